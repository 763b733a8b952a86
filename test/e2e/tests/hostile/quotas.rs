//! Quotas and turns are shared between tenants.

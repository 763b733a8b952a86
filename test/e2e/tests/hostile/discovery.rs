//! Discovery and OpenAPI of a tenant's API server decide nothing for others.

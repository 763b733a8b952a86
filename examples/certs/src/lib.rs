//! A worked example for provider authors: `cert-provider` serves `Certificate` objects with real X.509 certificates.
//!
//! Nothing here but [`demo`] knows of the broker. A provider watches its own kind in its own cluster and keeps three promises,
//! which `README.md` of this folder spells out: `status.status` says how far it is, `status.conditions` says why, and
//! `status.relatedResources` names what belongs to the object. The broker does the rest.
//!
//! The way of one event: [`controller`] (watches, queue) → [`reconcile`] (observe, act) → [`decision`] (pure: what
//! to do) → [`authority`], [`secret`], [`status`] (what is written). [`proof`] checks a certificate as its user would.
//! [`cert_provider`] and [`cert_check`] are the programs.

pub mod authority;
pub mod cert_check;
pub mod cert_provider;
pub mod controller;
pub mod decision;
pub mod demo;
pub mod fqdn;
pub mod proof;
pub mod reconcile;
pub mod retries;
pub mod secret;
pub mod status;

//! Many and costly AcceptAPIs are charged to their provider.

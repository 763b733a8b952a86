//! What is done about an RGD, in a small world that carries the writes out.
// Of what a world does or does not tell, each is on or off.

mod collected;
mod conditions;
mod custom_resource;
mod deletion;
mod property;
mod revisions;
mod served;
mod takeover;
mod unknown;
mod world;

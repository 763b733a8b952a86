//! `decide` and `migrate` on the same clusters in memory, linked as the binary links them: what an origin's last decision
//! says of its move is what its Migration sees, and the Migration's status is what the next decision sees.

mod dice;
mod hub;
mod ledger;
mod links;
mod property;
mod story;

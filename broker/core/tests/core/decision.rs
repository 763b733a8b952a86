//! What metrics and logs call what decisions are about.

use broker_core::decision::State;

use crate::decide::world::web;

#[test]
fn a_state_and_an_origin_are_called_what_they_are() {
    for state in State::ALL {
        assert_eq!(state.as_str(), format!("{state:?}"));
    }
    assert_eq!(web().to_string(), "consumer#homer Certificate team/web");
}

//! What `doctor` says where nothing is wrong, and where it cannot look.

use e2e::said::json_alike;

use crate::{alone, said::is_said};

#[test]
fn nothing_is_found_in_a_sound_installation_and_nothing_is_written() {
    alone(async |at| {
        at.until_sound("of the installation").await;
        let marks = at.marks().await;
        let said = at.command(&["doctor"]).await;
        assert_eq!(said.code, Some(0), "{said:?}");
        is_said(at, "sound.txt", &said.shown());
        let said = at.command(&["doctor", "-o", "yaml"]).await;
        assert_eq!(said.code, Some(0), "{said:?}");
        is_said(at, "sound-yaml.txt", &said.shown());
        let written = at.written_since(&marks).await;
        assert!(written.is_empty(), "{written:?}");
    });
}

#[test]
fn a_coordination_cluster_that_does_not_answer_is_all_that_is_told() {
    alone(async |at| {
        let said = at.command(&["doctor", "--context", "nowhere"]).await;
        assert_eq!(said.code, Some(1), "{said:?}");
        is_said(at, "nowhere.txt", &said.shown());
    });
}

#[test]
fn what_may_not_be_read_is_told_with_the_right_that_it_takes() {
    alone(async |at| {
        let said = at.command(&["doctor", "--context", "hub-limited"]).await;
        assert_eq!(said.code, Some(0), "nothing is known to be wrong: {said:?}");
        assert!(said.out.contains("it needs get and list of secrets there"), "{said:?}");
        is_said(at, "limited.txt", &said.shown());
        let said = at.command(&["doctor", "-o", "json", "--context", "hub-limited"]).await;
        is_said(at, "limited-json.txt", &format!("{:#}\n", json_alike(said.json())));
    });
}

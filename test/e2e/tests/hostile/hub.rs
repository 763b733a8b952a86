//! A user of one namespace of the hub reaches no other: Migrations and MigrationConfigurations.

//! Version: a named, immutable set of artifacts (seed 003, section 2).

machine! {
    /// A version of a package: a draft until published, immutable for ever after.
    version {
        states {
            /// Entries may still change.
            Draft = "draft",
            /// Visible; its content never changes again.
            Published = "published",
            /// Withdrawn, auditable, restorable within its retention.
            Tombstoned = "tombstoned",
        }
        rests { Published, Tombstoned }
        events { PublishAllowed, PublishQuarantined, Tombstone, Restore }
        rows {
            Draft + PublishAllowed => Published by Orchestrator,
            Draft + PublishQuarantined => Draft by Orchestrator,
            Published + Tombstone => Tombstoned by Orchestrator,
            Tombstoned + Restore => Published by Orchestrator,
        }
    }
}

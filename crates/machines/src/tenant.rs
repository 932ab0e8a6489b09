//! Tenant: who everything belongs to, brought to its desired state by the reconciler (seed 004).

machine! {
    /// A tenant and the resources it was given.
    tenant {
        states {
            /// Asked for; not validated yet.
            Requested = "requested",
            /// A plan of the resources is being made (optional).
            Planning = "planning",
            /// Resources are being created.
            Provisioning = "provisioning",
            /// Fully operational.
            Ready = "ready",
            /// Being brought to a new configuration.
            Updating = "updating",
            /// Resources are being torn down.
            Deleting = "deleting",
            /// Torn down; the record is kept.
            Archived = "archived",
            /// An operation failed; only deletion is open.
            Failed = "failed",
        }
        rests { Ready, Failed }
        events { Plan, Provision, Finish, Fail, Update, Delete }
        rows {
            Requested + Plan => Planning by Reconciler,
            Requested | Planning + Provision => Provisioning by Reconciler,
            Provisioning | Updating + Finish => Ready by Reconciler,
            Deleting + Finish => Archived by Reconciler,
            Requested | Planning | Provisioning | Updating | Deleting + Fail => Failed by Reconciler,
            Ready + Update => Updating by Orchestrator,
            Ready | Failed + Delete => Deleting by Orchestrator,
        }
    }
}

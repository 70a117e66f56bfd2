//! Runs the plan: owns its mutex, performs its fetches, completes waiting reads. Decides nothing.

// Package telemetrytest records spans in memory and checks what the design
// promises about them: one trace for each chain, no orphan (design section 6).
// Its types are plain, so that tests need not know OpenTelemetry.
//
//	tel, spans := telemetrytest.New(t)
//	… // run the thing with tel
//	spans.CheckChains(t)
//
// A [Recorder] is safe for concurrent use; ask it when the work is done.
package telemetrytest

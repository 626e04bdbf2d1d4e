package telemetry

// The attribute names of OpenTelemetry's semantic conventions 1.43 that this
// package uses, and our own for chains and NATS, which are not in the registry.
const (
	schemaURL = "https://opentelemetry.io/schemas/1.43.0"
	scopeName = "github.com/latchwire/latchwire/pkg/telemetry"

	keyErrorType = "error.type"
	keyLinkType  = "link.type"

	keyMethod        = "http.request.method"
	keyResendCount   = "http.request.resend_count"
	keyRoute         = "http.route"
	keyStatusCode    = "http.response.status_code"
	keyURL           = "url.full"
	keyServerAddress = "server.address"
	keyServerPort    = "server.port"

	keySystem         = "messaging.system"
	keyOperationName  = "messaging.operation.name"
	keyOperationType  = "messaging.operation.type"
	keyTemplate       = "messaging.destination.template"
	keyGroup          = "messaging.consumer.group.name"
	keyMessageID      = "messaging.message.id"
	keyConversationID = "messaging.message.conversation_id"
	keyBodySize       = "messaging.message.body.size"
	keyStream         = "messaging.nats.stream"
	keySequence       = "messaging.nats.sequence"
	keyDuplicate      = "messaging.nats.duplicate"
	keyDeliveryCount  = "messaging.nats.delivery_count"
	keyQueueTime      = "messaging.nats.queue_time_ms"

	keyCorrelationID = "chain.correlation_id"
	keyDepth         = "chain.depth"
	keyInvocationID  = "invocation.id"
	keyEventID       = "event.id"
	keyOutcome       = "invocation.outcome"
	keyExtensionID   = "extension.id"
	keyPurpose       = "webhook.purpose"
	keyAttempt       = "webhook.attempt"

	keyMCPMethod   = "mcp.method.name"
	keyMCPVersion  = "mcp.protocol.version"
	keyTool        = "gen_ai.tool.name"
	keyAIOperation = "gen_ai.operation.name"
)

// The values of link.type: why a span points at one that is not its parent.
const (
	linkCaller   = "caller"   // the context the work came with belongs to another trace
	linkChain    = "chain"    // the chain's span that this span's work led to
	linkCause    = "cause"    // the stored cause's span
	linkCreation = "creation" // the span that sent the message
	linkAmbient  = "ambient"  // the HTTP request that carried a tool call of another trace
)

// other stands for every value outside a closed set, as the conventions ask.
const other = "_OTHER"

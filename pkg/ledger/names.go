package ledger

// InvocationStream returns the name of a partition's stream of requests and
// their states.
func InvocationStream(partition int) string { return invStream(partition) }

// LockStream returns the name of a partition's stream of lock logs.
func LockStream(partition int) string { return lockStream(partition) }

// DeliveryStream returns the name of a partition's stream of webhook deliveries.
func DeliveryStream(partition int) string { return deliveryStream(partition) }

// ManifestStream is the stream behind the bucket of published manifests, which
// tells of each revision once.
const ManifestStream = "KV_manifests"

// AnnounceConsumer is the durable consumer of [ManifestStream] that tells the
// locks of a new revision.
const AnnounceConsumer = "announce"

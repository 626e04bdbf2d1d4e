// Tries the MCP service with an official client: CLIENT is "pin", "auto" (both
// @modelcontextprotocol/client) or "sdk" (@modelcontextprotocol/sdk 1.x), URL
// and TOKEN say where, and COMMAND which command settles as its input says. It
// prints one JSON line with what it saw, which the Go test judges.
const { CLIENT, URL: url, TOKEN, COMMAND } = process.env
const info = { name: "latchwire-conformance", version: "1.0.0" }
const requestInit = { headers: { Authorization: `Bearer ${TOKEN}` } }

async function connect() {
  if (CLIENT === "sdk") {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js")
    const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js")
    const client = new Client(info)
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }))
    return client
  }
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client")
  const mode = CLIENT === "pin" ? { pin: "2026-07-28" } : "auto"
  const client = new Client(info, { versionNegotiation: { mode } })
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }))
  return client
}

const client = await connect()
const seen = { tools: (await client.listTools()).tools.map((t) => t.name), instructions: client.getInstructions() }
const call = async (name, args) => {
  const r = await client.callTool({ name, arguments: args })
  return { isError: r.isError === true, structured: r.structuredContent, text: r.content[0].text }
}
seen.calls = {}
for (const as of ["complete", "reject", "fail", "unknown", "hold"]) {
  seen.calls[as] = await call("invoke_action", { id: COMMAND, input: { as } })
}
seen.again = await call("get_invocation", { id: seen.calls.complete.structured.invocationId })
seen.refused = await call("invoke_action", { id: COMMAND, input: [] })
seen.missing = await call("get_invocation", { id: "000000000000000000000000" })
seen.capabilities = await call("list_capabilities", {})
seen.described = await call("describe_actions", { ids: [COMMAND] })
seen.events = await call("read_events", { limit: 5 })
seen.options = await call("get_field_options", { id: COMMAND, field: "as" })
try {
  await client.callTool({ name: "no_such_tool", arguments: {} })
} catch (e) {
  seen.unknownTool = e.code
}
await client.close()
console.log(JSON.stringify(seen))

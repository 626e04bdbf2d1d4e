// Verifies recorded webhooks with the official library. FILE is JSON: a list of
// {secret, headers, body}. It prints one JSON line: for each of them "" if it
// verifies, else what the library says.
import { readFile } from "node:fs/promises"
import { Webhook } from "standardwebhooks"

const verdict = ({ secret, headers, body }) => {
  try {
    new Webhook(secret).verify(body, headers)
    return ""
  } catch (e) {
    return e.message
  }
}

console.log(JSON.stringify(JSON.parse(await readFile(process.env.FILE, "utf8")).map(verdict)))

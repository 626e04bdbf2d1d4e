// Judges the corpus of package manifest/schema with Ajv, as the contract words
// refusals. CORPUS is the file; it prints what Ajv says of each value, one group
// to a line: a list of "path: message", empty for a value that is valid.
import { readFile } from "node:fs/promises"
import Ajv from "ajv"
import Ajv2020 from "ajv/dist/2020.js"
import addFormats from "ajv-formats"

const options = { allErrors: true, strict: false, unicode: true, logger: false }

const judge = ({ schema, v, values }) => {
  // A group with v is about a property of that name.
  const whole = schema ?? { type: "object", properties: { v } }
  const ajv = new (whole.$schema?.includes("draft-07") ? Ajv : Ajv2020)(options)
  addFormats(ajv, ["date-time", "date", "uri", "email", "uuid"])
  const validate = ajv.compile(whole)
  return values.map((value) => {
    validate(schema ? value : { v: value })
    return (validate.errors ?? []).map((e) => `${e.instancePath}: ${e.message}`).sort()
  })
}

const corpus = JSON.parse(await readFile(process.env.CORPUS, "utf8"))
console.log("[\n" + corpus.map((group) => JSON.stringify(judge(group))).join(",\n") + "\n]")

/** The input of a method that AI clients use as a prompt or as resources, when it declares no other input. */
import type { MethodMcp, PromptArgument, ToolDeclaration } from './mcp-declarations.ts'
import type { JsonSchema } from './schema.ts'
import { UriTemplate } from './uri-template.ts'

/** True for what a method declares for AI clients, and false for a tool. */
export function isOfMethod(mcp: true | ToolDeclaration | MethodMcp): mcp is MethodMcp {
  return mcp !== true && ('prompt' in mcp || 'resource' in mcp)
}

/**
 * JSON Schema of `McpInput`. Every call is checked against it, because callers over HTTP may send any JSON. Null without
 * arguments and variables.
 *
 * @throws ConfigError when the template of the resource is not valid.
 */
export function mcpInputSchema(mcp: MethodMcp): JsonSchema | null {
  if (mcp.prompt !== undefined) {
    const given = mcp.prompt === true ? undefined : mcp.prompt.arguments
    return given === undefined ? null : stringsSchema(given)
  }
  const uri = mcp.resource === true ? undefined : mcp.resource.uri
  const { variables } = new UriTemplate(uri ?? '')
  if (variables.length === 0) return null
  const required = variables.map((name) => ({ name, required: true }))
  return stringsSchema([{ name: 'uri', description: 'The address that a client reads' }, ...required])
}

function stringsSchema(all: readonly PromptArgument[]): JsonSchema {
  const properties = all.map(({ name, title, description }) => [
    name,
    {
      type: 'string',
      ...(title === undefined ? {} : { title }),
      ...(description === undefined ? {} : { description }),
    },
  ])
  const required = all.filter((each) => each.required === true).map(({ name }) => name)
  return { type: 'object', properties: Object.fromEntries(properties), required }
}

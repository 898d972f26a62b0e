/** Tool arguments that clients mirror in `Mcp-Param-*` header fields (2026-07-28, "x-mcp-header"). */
import { own } from '../../json/json.ts'
import type { JsonSchema } from '../../app/schema.ts'
import { ConfigError } from '../../config/config-error.ts'
import { isSameArgument } from '../protocol/header-value.ts'
import { isRecord } from '../protocol/message.ts'

export interface HeaderParameter {
  /** The header field, in lower case because the HTTP layer looks it up so. */
  readonly field: string
  /** The path from the root of the arguments. */
  readonly path: readonly string[]
}

const keyword = 'x-mcp-header'
const mirrored: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean'])

/** @throws ConfigError for a declaration that makes clients ignore the tool. */
export function headerParameters(tool: string, schema: JsonSchema): readonly HeaderParameter[] {
  const found = collect(schema, [])
  const names = found.map(({ field }) => field)
  if (new Set(names).size !== names.length)
    throw new ConfigError(`The tool ${tool} declares the same ${keyword} twice.`)
  // Inside items, $defs or a choice of schemas, the keyword has no unique path in the arguments.
  const everywhere = JSON.stringify(schema).split(`"${keyword}":`).length - 1
  if (everywhere !== found.length) throw new ConfigError(`The tool ${tool} has an ${keyword} outside of properties.`)
  return found

  function collect(of: JsonSchema, path: readonly string[]): HeaderParameter[] {
    const properties = of['properties']
    if (!isRecord(properties)) return []
    return Object.entries(properties).flatMap(([name, property]) => {
      if (!isRecord(property)) return []
      const inside = collect(property, [...path, name])
      if (!(keyword in property)) return inside
      const header = property[keyword]
      if (
        typeof header !== 'string' ||
        !/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(header) ||
        !mirrored.has(property['type'])
      ) {
        throw new ConfigError(
          `Invalid ${keyword} at ${JSON.stringify(name)} of the tool ${tool}: use a header name, on a string, integer or boolean.`,
        )
      }
      return [{ field: `mcp-param-${header.toLowerCase()}`, path: [...path, name] }, ...inside]
    })
  }
}

/** The first argument that differs from its header field, or null. A field for an absent argument is ignored. */
export function contradicted(
  parameters: readonly HeaderParameter[],
  args: unknown,
  header: (field: string) => string | undefined,
): string | null {
  for (const { field, path } of parameters) {
    const value = path.reduce<unknown>((at, name) => (isRecord(at) ? own(at, name) : undefined), args)
    if (value === undefined || value === null) continue
    if (!isSameArgument(header(field), value)) return path.join('.')
  }
  return null
}

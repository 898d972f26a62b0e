/** The regular expressions of a declared schema. A pattern that can take long for a short string would stop the service. */
import type { Growth } from './growth.ts'

/** The part of a Standard Schema that names its library and converts it. */
interface Library {
  readonly '~standard': {
    readonly vendor: string
    readonly jsonSchema?: { readonly input: Convert; readonly output: Convert }
  }
}

type Convert = (options: {
  readonly target: 'draft-2020-12'
  readonly libraryOptions?: Record<string, unknown>
}) => unknown

interface DeclaredPattern {
  readonly source: string
  readonly flags: string
  /** The field as in `times[].at`. Empty for the value itself. */
  readonly field: string
}

/** A pattern whose time grows faster than the length of a string. The message continues "its schema". */
export class SlowPatternError extends Error {
  constructor({ source, flags, field }: DeclaredPattern, growth: Growth | 'unknown') {
    const place = field === '' ? '' : ` at field "${field}"`
    const why =
      growth === 'unknown'
        ? 'which is too long to be checked'
        : `whose time is ${growth === 'exponential' ? 'exponential' : 'at least quadratic'} in the length of a string`
    super(
      `has the pattern /${source}/${flags}${place}, ${why}. Write it so that two repetitions never read the same characters one after the other, or check the string in code`,
    )
    this.name = 'SlowPatternError'
  }
}

const growths = new Map<string, Growth | 'unknown'>()

/** @throws SlowPatternError */
export async function requireLinearPatterns(
  library: Library | null,
  jsonSchema: object | null,
  fieldAt: (place: readonly PropertyKey[]) => string,
): Promise<void> {
  const patterns = [
    ...(library === null ? [] : patternsOfLibrary(library, fieldAt)),
    ...patternsIn(jsonSchema, [], fieldAt),
  ]
  if (patterns.length === 0) return
  const { growthOf } = await import('./growth.ts')
  for (const pattern of patterns) {
    const key = `${pattern.flags}/${pattern.source}`
    let growth = growths.get(key)
    if (growth === undefined) growths.set(key, (growth = measured(growthOf, pattern)))
    if (growth !== 'linear') throw new SlowPatternError(pattern, growth)
  }
}

function measured(
  growthOf: (source: string, flags: string) => Growth,
  { source, flags }: DeclaredPattern,
): Growth | 'unknown' {
  try {
    return growthOf(source, flags)
  } catch {
    return 'unknown'
  }
}

const maps = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])
const values = new Set(['const', 'enum', 'default', 'examples'])

function patternsIn(
  schema: unknown,
  place: readonly PropertyKey[],
  fieldAt: (place: readonly PropertyKey[]) => string,
): DeclaredPattern[] {
  if (typeof schema !== 'object' || schema === null) return []
  const found: DeclaredPattern[] = []
  const add = (source: string): void => void found.push({ ...spelling(source), field: fieldAt(place) })
  for (const [keyword, value] of entriesOf(schema)) {
    if (keyword === 'pattern' && typeof value === 'string') add(value)
    if (values.has(keyword) || typeof value !== 'object' || value === null) continue
    if (keyword === 'patternProperties') for (const source of Object.keys(value)) add(source)
    if (maps.has(keyword))
      for (const [name, one] of entriesOf(value)) found.push(...patternsIn(one, [...place, keyword, name], fieldAt))
    else found.push(...patternsIn(value, [...place, keyword], fieldAt))
  }
  return found
}

function entriesOf(value: object): [string, unknown][] {
  return Object.entries(value)
}

/** JSON Schema patterns have no flags. Ajv reads them with `u`; libraries publish some that are valid without it only. */
function spelling(source: string): { readonly source: string; readonly flags: string } {
  try {
    return { source: new RegExp(source, 'u').source, flags: 'u' }
  } catch {
    return { source, flags: '' }
  }
}

/**
 * The patterns of a zod schema with their flags, and those that its JSON Schema leaves out. zod calls `override` with every
 * schema that it converts. Other libraries ignore it, and their patterns are those of their JSON Schema.
 */
function patternsOfLibrary(schema: Library, fieldAt: (place: readonly PropertyKey[]) => string): DeclaredPattern[] {
  const { vendor, jsonSchema } = schema['~standard']
  if (vendor !== 'zod' || jsonSchema === undefined) return []
  const found: DeclaredPattern[] = []
  const override = ({
    zodSchema,
    path,
  }: {
    readonly zodSchema: unknown
    readonly path: readonly PropertyKey[]
  }): void => {
    for (const { source, flags } of expressionsOf(zodSchema)) found.push({ source, flags, field: fieldAt(path) })
  }
  for (const convert of [jsonSchema.input, jsonSchema.output]) {
    try {
      convert({ target: 'draft-2020-12', libraryOptions: { unrepresentable: 'any', override } })
    } catch {
      // The declaration has a JSON Schema of its own, because this conversion is not possible.
    }
  }
  return found
}

/** The part of a zod schema, or of one of its checks, that holds its expressions. */
interface ZodInner {
  readonly def?: { readonly checks?: readonly { readonly _zod?: { readonly def?: object } }[] }
  readonly pattern?: unknown
}

function expressionsOf(zodSchema: unknown): RegExp[] {
  const { _zod: inner } = zodSchema as { readonly _zod?: ZodInner }
  const checks = inner?.def?.checks ?? []
  const ofChecks = checks.flatMap((check) => Object.values<unknown>({ ...check._zod?.def }))
  const all: readonly unknown[] = [inner?.pattern, ...Object.values<unknown>({ ...inner?.def }), ...ofChecks]
  return all.filter((one) => one instanceof RegExp)
}

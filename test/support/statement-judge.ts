/** Judges the statements that the tests of a run executed. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Quotas } from '../../src/quota/quota.ts'
import { effectOf } from '../../src/quota/quota-store.ts'
import { builtInTables } from '../../src/features/features.ts'
import { quotasWith } from '../../src/quotas.ts'
import { uncoveredStatements } from './covering-set.ts'
import type { StatementRecord } from './statement-records.ts'
import { shapeOf } from './statement-shape.ts'
import { type Exceptions, unplacedStatements, unplacedTables } from './unplaced-statements.ts'

/** The statements in the sources: complete ones, and those with parts that other code makes, as the texts between the parts. */
export interface SourceStatements {
  readonly complete: ReadonlySet<string>
  readonly templates: readonly (readonly string[])[]
}

/** The texts of a template have at least this many characters together. Any statement would fit a shorter one. */
const leastText = 25

const statementLiteral =
  /(['"`])((?:\/\*[^*]*\*\/ *)?(?:SELECT|INSERT INTO|UPDATE|DELETE FROM|WITH) (?:(?!\1)[^\\]|\\.)*)\1/g

/** Finds the statements of the service in its sources, to tell them from those of tests. */
export function statementsOf(texts: readonly string[]): SourceStatements {
  const complete = new Set<string>()
  const templates: string[][] = []
  for (const text of texts)
    for (const [, , literal = ''] of text.matchAll(statementLiteral)) {
      const parts = literal.split(/\$\{(?:[^{}]|\{[^{}]*\})*\}/).map(shapeOf)
      if (parts.length === 1) complete.add(parts.join(''))
      else if (parts.join('').length >= leastText) templates.push(parts)
    }
  return { complete, templates }
}

/** Reads the sources of the service. */
export function readStatements(root: string): SourceStatements {
  return statementsOf(textsOf(root))
}

/** The statements as the sources write them, with `${…}` for parts that other code makes. */
export function readLiterals(root: string): string[] {
  return textsOf(root).flatMap((text) => [...text.matchAll(statementLiteral)].map(([, , literal = '']) => literal))
}

function textsOf(root: string): string[] {
  return globSync('src/**/*.ts', { cwd: root }).map((file) => readFileSync(join(root, file), 'utf8'))
}

/** The driver of PostgreSQL runs its migrations without a store. One test fills a store with subscriptions on SQLite only. */
const ofSqlite = /\bschema_migrations\b|\bfeature_migration\b|'high', 'stopped', 1\)$/

/**
 * Returns one sentence for each fault.
 *
 * @param sources the statements of the service: others belong to tests.
 */
export function judgeStatements(
  records: readonly StatementRecord[],
  sources: SourceStatements,
  exceptions: readonly Exceptions[] = unplacedStatements,
): string[] {
  const own = records.filter(({ shape }) => isOfService(shape, sources))
  const shapes = new Set(own.map(({ shape }) => shape))
  const unplaced = [...shapes].filter((shape) => unplacedTables(shape).length > 0)
  const all = exceptions.flatMap(({ statements }) => statements)
  return [
    ...uncoveredStatements(own)
      .filter((shape) => !ofSqlite.test(shape))
      .map((shape) => `No test executes on PostgreSQL, as on SQLite: ${shape}`),
    ...[...shapes]
      .filter(isUncounted)
      .map((shape) => `Quotas do not see what the statement adds (quota-store.ts): ${shape}`),
    ...unplaced
      .filter((shape) => !all.some((one) => isMeant(one, shape)))
      .map((shape) => `The statement names no server of a sharded database: ${shape}`),
    ...all
      .filter((one) => !unplaced.some((shape) => isMeant(one, shape)))
      .map((one) => `No test executes the listed statement ${one}, or it names its server: remove it from the list`),
  ]
}

const quotas = new Quotas(() => 0)
quotas.declare(quotasWith(builtInTables), [])
const adding = /\b(INSERT|REPLACE|MERGE|UPDATE)(?: OR \w+)?(?: INTO)? (?:ONLY )?(\w+)/gi

/**
 * Whether a statement adds to a table that a quota counts, in a form that the check of quotas does not know. The check itself
 * refuses an executed statement without a parameter that names the actor.
 */
export function isUncounted(shape: string): boolean {
  if (effectOf(shape, quotas) !== null) return false
  return [...shape.matchAll(adding)].some(([, verb = '', table = '']) =>
    quotas.of(table).some(({ isSize }) => verb.toUpperCase() !== 'UPDATE' || isSize === true),
  )
}

function isMeant(one: string | RegExp, shape: string): boolean {
  return typeof one === 'string' ? shape.startsWith(one) : one.test(shape)
}

/** Tests run statements of their own, such as `SELECT * FROM actor`. */
function isOfService(shape: string, { complete, templates }: SourceStatements): boolean {
  return complete.has(shape) || templates.some((parts) => fits(shape, parts))
}

function fits(shape: string, parts: readonly string[]): boolean {
  let at = 0
  for (const [index, part] of parts.entries()) {
    const found = shape.indexOf(part, at)
    if (found < 0 || (index === 0 && found > 0)) return false
    at = found + part.length
  }
  return parts.at(-1) === '' || shape.endsWith(parts.at(-1) ?? '')
}

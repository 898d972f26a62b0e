/**
 * Loaded before a test file, and before the programs that it starts. Writes each kind of statement that the process
 * executes to a file, once for each store, caller and test.
 */
import { subscribe } from 'node:diagnostics_channel'
import { openSync, writeSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { ExecutedStatement } from '../../src/open-store.ts'
import type { TestFile } from './file-messages.ts'
import type { StatementRecord } from './statement-records.ts'
import { shapeOf } from './statement-shape.ts'

const folder = process.env['STATEMENT_RECORDS'] ?? ''
if (folder !== '') record(await followTests())

/** Returns a function that returns the label of the running test: its full name, or only its store. */
async function followTests(): Promise<() => string> {
  const isTestFile = process.execArgv.some((argument) => argument.startsWith('--test-reporter'))
  if (!isTestFile) return () => ''
  const { beforeEach } = await import('node:test')
  const isNamed = basename(folder) === 'named'
  let label = ''
  let suite = ''
  subscribe('troupe:test-file', (message) => {
    label = ''
    suite = `${(message as TestFile).name} > `
  })
  beforeEach((context) => {
    const fullName = 'fullName' in context ? context.fullName : ''
    const name = fullName.startsWith(suite) ? fullName.slice(suite.length) : fullName
    label = isNamed ? name : (/\bon (?:SQLite|(?:sharded )?PostgreSQL)\b/.exec(name)?.[0] ?? '')
  })
  return () => label
}

function record(labelNow: () => string): void {
  const path = join(folder, `${process.pid}-${Date.now()}.jsonl`)
  let [, file = ''] = process.argv
  const shapes = new Map<string, string>()
  const seen = new Set<string>()
  let output: number | undefined
  // A process with several test files names the one that it loads (shared-process.ts).
  subscribe('troupe:test-file', (message) => {
    file = (message as TestFile).file
    seen.clear()
  })
  subscribe('troupe:statement', (message) => {
    const { dialect, sql, caller } = message as ExecutedStatement
    const shape = shapes.get(sql) ?? shapeOf(sql)
    shapes.set(sql, shape)
    const test = labelNow()
    const key = `${dialect} ${caller} ${test} ${shape}`
    if (seen.has(key)) return
    seen.add(key)
    // A killed process writes nothing at its end.
    output ??= openSync(path, 'a')
    writeSync(output, `${JSON.stringify({ file, test, dialect, caller, shape } satisfies StatementRecord)}\n`)
  })
}

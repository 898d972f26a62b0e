/**
 * Loaded before a test file, and before the programs that it starts. Writes each kind of statement that the process
 * executes to a file, once for each store, caller and test.
 */
import { subscribe } from 'node:diagnostics_channel'
import { appendFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { ExecutedStatement } from '../../src/open-store.ts'
import type { StatementRecord } from './statement-records.ts'
import { shapeOf } from './statement-shape.ts'

const folder = process.env['STATEMENT_RECORDS'] ?? ''
let [, file = ''] = process.argv
let label = ''
if (folder !== '') {
  await followTests()
  record()
}

/** Keeps the label of the running test: its full name, or only its store. */
async function followTests(): Promise<void> {
  const isTestFile = process.execArgv.some((argument) => argument.startsWith('--test-reporter'))
  if (!isTestFile) return
  // A shared process names each file before it runs.
  subscribe('troupe:test-file', (name) => {
    file = String(name)
    label = ''
  })
  const { beforeEach } = await import('node:test')
  const isNamed = basename(folder) === 'named'
  beforeEach((context) => {
    const full = 'fullName' in context ? context.fullName : ''
    const name = full.startsWith(`${file} > `) ? full.slice(file.length + 3) : full
    label = isNamed ? name : (/\bon (?:SQLite|(?:sharded )?PostgreSQL)\b/.exec(name)?.[0] ?? '')
  })
}

function record(): void {
  const path = join(folder, `${process.pid}-${Date.now()}.jsonl`)
  const shapes = new Map<string, string>()
  const seen = new Set<string>()
  subscribe('troupe:statement', (message) => {
    const { dialect, sql, caller } = message as ExecutedStatement
    const shape = shapes.get(sql) ?? shapeOf(sql)
    shapes.set(sql, shape)
    const test = label
    const key = `${file} ${dialect} ${caller} ${test} ${shape}`
    if (seen.has(key)) return
    seen.add(key)
    // A killed process writes nothing at its end.
    appendFileSync(path, `${JSON.stringify({ file, test, dialect, caller, shape } satisfies StatementRecord)}\n`)
  })
}

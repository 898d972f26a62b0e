import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { describe, it } from 'node:test'

const src = join(import.meta.dirname, '..', '..', 'src')

/** Code that only acts and the rooms below them may contain. Types may be named. */
const forbidden: Readonly<Record<string, RegExp>> = {
  'notes an act for the audit log': /\bnote(?:Act|IfOwner)\b/,
  'writes to the audit log': /\bauditLog\.record\b|\bnew AuditLog\b/,
  'reads or writes the store': /\bstore\??\.\w+\(|readonly store: (?!')|\bwriteActor\b|\bTransaction\b/,
  'calls a function of a file of statements': /^import (?!type\b)(?!\{ type [^,}]+ \})[^']*'[^']*-store\.ts'/m,
}

export function violationsOfActs(path: string, text: string): string[] {
  return Object.entries(forbidden).flatMap(([what, pattern]) => (pattern.test(text) ? [`${path} ${what}`] : []))
}

describe('pages and routes', () => {
  it('only parse and show: acts hold the rights, the transactions and the audit entries', async () => {
    const found: string[] = []
    let files = 0
    for await (const path of glob('{pages,http/routes,features/*/{pages,routes}}/**/*.ts', { cwd: src })) {
      files += 1
      found.push(...violationsOfActs(path.replaceAll(sep, '/'), await readFile(join(src, path), 'utf8')))
    }
    assert.ok(files > 200)
    assert.deepEqual(found, [])
  })

  for (const [text, violation] of [
    ["noteAct(actor.id, 'key.create')", 'notes an act for the audit log'],
    ["import { noteIfOwner } from '../observe/own-acts.ts'", 'notes an act for the audit log'],
    ['deps.auditLog.record(entry)', 'writes to the audit log'],
    ['await deps.store.read((q) => find(q, id))', 'reads or writes the store'],
    ["readonly store: Pick<Store, 'read'>", 'reads or writes the store'],
    ["import { findTrust } from '../../trust/trust-store.ts'", 'calls a function of a file of statements'],
    ["import { type Row, findRow } from '../row-store.ts'", 'calls a function of a file of statements'],
  ] as const) {
    it(`must not contain ${text}`, () => {
      assert.deepEqual(violationsOfActs('a.ts', text), [`a.ts ${violation}`])
    })
  }

  for (const text of [
    "import type { Trust } from '../../trust/trust-store.ts'",
    "import { type Trust } from '../../trust/trust-store.ts'",
    'await deps.auditLog.page(actor.id, filter)',
  ]) {
    it(`may contain ${text}`, () => {
      assert.deepEqual(violationsOfActs('a.ts', text), [])
    })
  }
})

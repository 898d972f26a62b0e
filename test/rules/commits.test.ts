import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { brokenRules, commitsSince } from '../support/commit-rules.ts'

/** The last commit before these rules existed. */
const base = '52a65ac95e2e7484f3a53976d9ff8123fe47bf2c'
const root = dirname(dirname(import.meta.dirname))

describe('the rules of commits', () => {
  it('hold for each commit since they were introduced', (t) => {
    const commits = commitsSince(base, root)
    if (commits === null) return t.diagnostic(`No history since ${base} to read: no commit was checked`)
    t.diagnostic(`${commits.length} commits were checked`)
    for (const commit of commits) assert.deepEqual(brokenRules(commit), [], `${commit.hash} ${commit.subject}`)
  })

  const subjects: readonly (readonly [subject: string, broken: readonly string[]])[] = [
    ['property: refuse a value below a list', []],
    ['mcp: process and address messages in order', []],
    ['list, property: read pages', []],
    ['property: refuses a value', ['"refuses" is not an imperative']],
    ['property: refused a value', ['"refused" is not an imperative']],
    ['property: refusing a value', ['"refusing" is not an imperative']],
    ['refuse a value', ['the subject is not "area: do the thing"']],
    ['property: refuse a value.', ['the subject ends with a period']],
    [`property: ${'x'.repeat(63)}`, ['the subject has more than 72 characters']],
  ]
  for (const [subject, broken] of subjects) {
    it(`${broken.length === 0 ? 'accept' : 'reject'} the subject "${subject}"`, () => {
      assert.deepEqual(brokenRules({ hash: '', subject, body: '', files: [] }), broken)
    })
  }

  it('require a body when the changelog changes', () => {
    const commit = { hash: '', subject: 'property: refuse a value below a list', files: ['CHANGELOG.md'] }
    assert.deepEqual(brokenRules({ ...commit, body: '' }), ['a commit that changes behavior has a body'])
    assert.deepEqual(brokenRules({ ...commit, body: 'Such a value could not be read again.' }), [])
  })

  it('check no commits in a folder without history', () => {
    const folder = mkdtempSync(join(tmpdir(), 'troupe-no-history-'))
    assert.equal(commitsSince(base, folder), null)
    rmSync(folder, { recursive: true })
  })

  it('check no commits when the base is not in the history', () => {
    assert.equal(commitsSince('0123456789012345678901234567890123456789', root), null)
  })
})

/** Ids and references of code, tests and documents name a row of docs/spec or a record of docs/decisions. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { type Area, areasOf, idForm, rowIds, specPage } from '../support/catalogue.ts'

const root = dirname(dirname(import.meta.dirname))

/** These files name ids that do not exist, to prove that the checks find such ids. */
const namesMadeUpIds = new Set(['sources', 'test-run', 'catalogue'].map((name) => `test/rules/${name}.test.ts`))

const files = (
  await Array.fromAsync(glob(['{src,test,docs,bench,examples,tools}/**/*.{ts,js,sql,md}', '*.md'], { cwd: root }))
)
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => !path.includes('node_modules/') && !namesMadeUpIds.has(path))
  .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))

const known = new Set(['requirements', 'faults', 'choices', 'wire'].flatMap((page) => rowIds(specPage(page))))
const records = new Set(
  readdirSync(join(root, 'docs', 'decisions')).flatMap((name) => /^(\d{3})-/.exec(name)?.[1] ?? []),
)

/** References to a source outside of the repository, or to a choice whose number a record could have. */
const oldForms = [
  /\bdecisions? (?!\d{3}\b)\d+/gi,
  /\bwire, (?:section )?\d[\d.]*/gi,
  /\bactor-service\b/g,
  /\(spec[,:] [^)]*/g,
]

/** The references of a text to rows and records that do not exist. */
function dangling(text: string): string[] {
  const ids = [...text.matchAll(idForm)].map(([id]) => id).filter((id) => !known.has(id))
  const numbers = [...text.matchAll(/\b(?:records?|decisions?|docs\/decisions\/)[ ]?(\d{3})\b/gi)]
  const lost = numbers.filter(([, number = '']) => !records.has(number)).map(([reference]) => reference)
  return [...ids, ...lost, ...oldForms.flatMap((form) => [...text.matchAll(form)].map(([reference]) => reference))]
}

describe('the pages of docs/spec', () => {
  it('have rows numbered from 01 in each area, with the id as anchor', () => {
    const pages = ['requirements', 'faults', 'wire'].map((page) => areasOf(specPage(page)))
    const expected = (area: Area, prefix: string): string[] =>
      area.ids.map((_, index) => `${prefix}${area.id}-${String(index + 1).padStart(2, '0')}`)
    for (const [index, page] of pages.entries()) {
      const prefix = index === 2 ? 'WIRE-' : ''
      for (const area of page) assert.deepEqual(area.ids, expected(area, prefix))
    }
    for (const page of ['requirements', 'faults', 'choices', 'wire']) {
      const anchors = [...specPage(page).matchAll(/<a id="([^"]*)"><\/a>(\S+)/g)]
      for (const [, anchor, id] of anchors) assert.equal(anchor, id?.toLowerCase())
    }
    // A row without an anchor would not be counted. The rows after the cut repeat ids of other rows.
    const counted = (page: string): string => specPage(page).split('## Rows that go beyond')[0] ?? ''
    const pagesWithoutAnchor = ['requirements', 'faults', 'choices', 'wire'].filter((page) =>
      /^\| *[A-Z][A-Z-]*\d+ *\|/m.test(counted(page)),
    )
    assert.deepEqual(pagesWithoutAnchor, [])
  })

  it('contain each id once', () => {
    const ids = ['requirements', 'faults', 'choices', 'wire'].flatMap((page) => rowIds(specPage(page)))
    assert.equal(new Set(ids).size, ids.length)
    assert.ok(ids.length > 500)
  })
})

describe('references to docs/spec and docs/decisions', () => {
  it('name an existing row or record', () => {
    const lost = files.flatMap(({ path, text }) => dangling(text).map((reference) => `${path}: ${reference}`))
    assert.deepEqual(lost, [])
  })

  it('exist in code, tests and documents', () => {
    const count = files.reduce((sum, { text }) => sum + (text.match(idForm)?.length ?? 0), 0)
    assert.ok(count > 2500, String(count))
  })

  it('are reported when their target does not exist', () => {
    for (const text of ['LST-99', 'LST-4', 'R-FOO-01', 'WIRE-TRUST-99', 'CHOICE-81', 'I12']) {
      assert.deepEqual(dangling(`keeps all items (${text})`), [text])
    }
    assert.deepEqual(dangling('(decision 60), decisions 1 and 49'), ['decision 60', 'decisions 1'])
    assert.deepEqual(dangling('(decision 999), docs/decisions/998'), ['decision 999', 'docs/decisions/998'])
    assert.deepEqual(dangling('(wire, 2.14.2)'), ['wire, 2.14.2'])
    assert.deepEqual(dangling('UTF-16, SHA-256, LST-04, R-PROP-03, WIRE-TRUST-04, CHOICE-60, I10, record 016'), [])
  })
})

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { inOrder, isReached } from '../../tools/mutant-tests.ts'
import { applied, mutantsOf } from '../../tools/mutants.ts'

/** The source with each fault of one kind, in turn. */
const made = (source: string, kind: string): string[] =>
  mutantsOf(source)
    .filter((mutant) => mutant.kind === kind)
    .map((mutant) => applied(source, mutant))

describe('the mutants of a source', () => {
  const cases: [kind: string, source: string, expected: string[]][] = [
    ['equality', 'const a = b === c', ['const a = b !== c']],
    ['bound', 'const a = b < c && d >= e', ['const a = b <= c && d >= e', 'const a = b < c && d > e']],
    ['bound', 'const a: Map<string, Set<number>> = b()', []],
    ['connective', 'const a = b || c', ['const a = b && c']],
    ['default', 'const a = b ?? c', ['const a = b && c']],
    ['boolean', 'return true', ['return false']],
    ['quantifier', 'const a = b.some(c)', ['const a = b.every(c)']],
    ['negation', 'const a = !b', ['const a = b']],
    ['condition', 'if (a(b)) c()', ['if (!(a(b))) c()']],
    ['condition', 'if (!a) b()', []],
    ['throw', "if (a) throw new Error('no')\nb()", ['if (a) {}\nb()']],
    ['throw', "throw new Error(\n  'no',\n)\nb()", ['{}\nb()']],
    ['statement', '{\n  await a(b)\n  return c\n}', ['{\n  \n  return c\n}']],
    ['statement', '{\n  a()\n    .b()\n  d.e = f\n}', ['{\n  \n  d.e = f\n}', '{\n  a()\n    .b()\n  \n}']],
    ['statement', '{\n  method(a: string): void {\n    return b\n  }\n}', []],
    ['statement', '{\n  log.warn({ a })\n}', []],
    ['number', 'const a = 60 * seconds', ['const a = 61 * seconds']],
    ['number', 'const a = 86_400_000', ['const a = 172800000']],
    ['number', 'const sha256 = b1', []],
    ['SQL condition', 'q(`SELECT a FROM b WHERE c = $1 AND d = $2`)', ['q(`SELECT a FROM b WHERE c = $1 `)']],
    ['SQL bound', "q('DELETE FROM a WHERE b < $1')", ["q('DELETE FROM a WHERE b <= $1')"]],
    ['SQL null', "q('SELECT a FROM b WHERE c IS NULL')", ["q('SELECT a FROM b WHERE c IS NOT NULL')"]],
  ]
  for (const [kind, source, expected] of cases) {
    it(`are ${expected.length} of the kind ${kind} in ${JSON.stringify(source)}`, () => {
      assert.deepEqual(made(source, kind), expected)
    })
  }

  for (const untouched of [
    '// a === b && c < 60',
    '/* if (a) throw b */',
    "const a = 'b === c && d < 60'",
    'const a = `b === c`',
    'const a = /[<>] && 60/',
    "import { a } from './b60.ts'",
    'export interface A {\n  readonly b: 60 | true\n}',
    "export type A = 'b' | true",
  ]) {
    it(`do not exist in ${JSON.stringify(untouched)}`, () => {
      assert.deepEqual(mutantsOf(untouched), [])
    })
  }

  it('include code inside of template literals', () => {
    assert.deepEqual(made('const a = `b === ${c === d} === e`', 'equality'), ['const a = `b === ${c !== d} === e`'])
  })

  it('have a line and a column', () => {
    const [mutant] = mutantsOf('const a = 1\nconst b = c === d').filter(({ kind }) => kind === 'equality')
    assert.deepEqual([mutant?.line, mutant?.column], [2, 13])
  })
})

describe('the tests for a mutant', () => {
  // A function from 10 to 90 contains a block from 20 to 40 that did not run, and the block contains an arrow function.
  const ranges = [
    { startOffset: 0, endOffset: 100, count: 1 },
    { startOffset: 10, endOffset: 90, count: 3 },
    { startOffset: 20, endOffset: 40, count: 0 },
    { startOffset: 25, endOffset: 30, count: 0 },
  ]
  const cases: [what: string, at: number, kind: string, expected: boolean][] = [
    ['run for code of a function that ran', 12, 'equality', true],
    ['do not run for code of a block that did not run', 20, 'equality', false],
    ['do not run for code of a function that was never called', 27, 'throw', false],
    ['run for code after the block', 40, 'statement', true],
    ['run for a connective whose right side did not run', 20, 'connective', true],
    ['do not run for a connective inside code that did not run', 21, 'connective', false],
    ['run for a default that was not used', 20, 'default', true],
    ['do not run for a position outside of the file', 100, 'equality', false],
  ]
  for (const [what, at, kind, expected] of cases) {
    it(`${what}: ${at}, ${kind}`, () => {
      assert.equal(isReached(ranges, { at, kind }), expected)
    })
  }

  it('do not run for a file that they never loaded', () => {
    assert.equal(isReached([], { at: 0, kind: 'equality' }), false)
  })

  it('begin with the fastest test', () => {
    const known = [
      { test: 'b', seconds: 2, shown: 0, noticed: 0 },
      { test: 'a', seconds: 3, shown: 0, noticed: 0 },
      { test: 'c', seconds: 1, shown: 0, noticed: 0 },
    ]
    assert.deepEqual(inOrder(known), ['c', 'b', 'a'])
  })

  it('begin with the tests that noticed the most mutants of the file per second', () => {
    const known = [
      { test: 'quick, and never', seconds: 1, shown: 6, noticed: 0 },
      { test: 'slow, and always', seconds: 4, shown: 6, noticed: 6 },
      { test: 'slow, and sometimes', seconds: 4, shown: 6, noticed: 2 },
    ]
    assert.deepEqual(inOrder(known), ['slow, and always', 'quick, and never', 'slow, and sometimes'])
  })
})

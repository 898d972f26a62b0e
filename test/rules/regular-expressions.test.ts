import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import detector from 'scslre'
import { patternGraph, type PatternGraph } from '../../src/app/patterns/graph.ts'
import { growthOf } from '../../src/app/patterns/growth.ts'
import { seeded } from '../support/random.ts'
import { attacks, expressionsIn, search } from '../support/regular-expressions.ts'

const folder = join(import.meta.dirname, '../../src')
const { literals, made } = await expressionsIn(folder)

/** The growth of the steps when a string becomes four times longer: 4 when it is linear, 16 when it is quadratic. */
function worstGrowth(graph: PatternGraph, seed: number): number {
  let worst = 0
  const random = seeded(seed)
  for (const [before, pump, after] of attacks(graph, () => random.next()))
    for (const entry of graph.entries) {
      const stepsOf = (count: number): number =>
        search(graph, entry, [...before, ...Array.from({ length: count }, () => pump).flat(), ...after]).steps
      worst = Math.max(worst, stepsOf(80) / stepsOf(20))
    }
  return worst
}

describe('a regular expression of the service', () => {
  it('is found in the syntax tree, wherever it is', () => {
    assert.ok(literals.length > 350, String(literals.length))
    assert.ok(literals.some(({ source }) => source === "^[!#$%&'*+.^_`|~0-9a-z-]+$"))
  })

  it('takes linear time for every string (HTTP-19)', () => {
    assert.deepEqual(
      literals.filter(({ source, flags }) => growthOf(source, flags) !== 'linear'),
      [],
    )
  })

  it('has no repetition that a second detector objects to (HTTP-19)', () => {
    assert.deepEqual(
      literals.filter(({ source, flags }) => detector.analyse(new RegExp(source, flags)).reports.length > 0),
      [],
    )
  })

  it('takes at most eight times the steps for a string of four times the length (HTTP-19)', () => {
    const distinct = new Map(literals.map((literal) => [`/${literal.source}/${literal.flags}`, literal]))
    const growing = [...distinct.values()].filter(
      ({ source, flags }, index) => worstGrowth(patternGraph(source, flags), index) > 8,
    )
    assert.deepEqual(growing, [])
  })

  it('is a literal, except in these files', () => {
    assert.deepEqual(Object.fromEntries(made), {
      // Reads the spelling of patterns, and matches single characters.
      'app/patterns/declared.ts': 1,
      'app/patterns/graph.ts': 1,
      // Templates of an OpenAPI document, whose variables have no slash.
      'cli/shadow/shadow-report.ts': 1,
      // At most 2048 bytes, from their start.
      'http/dispatch/anti-forgery.ts': 1,
      // Patterns of declared schemas, which are linear.
      'operation/declared-members.ts': 1,
      // Only compiled, for the browser.
      'pages/properties/form-shape.ts': 1,
      'pages/shared/visible.ts': 1,
      'secret/typed-code.ts': 1,
      // Statements of this service.
      'store/portable.ts': 1,
    })
  })
})

const known: readonly (readonly [source: string, flags: string, growth: string])[] = [
  ['^([a-z]+)+$', '', 'exponential'],
  ['^(a|a)*$', '', 'exponential'],
  ['^(a|aa)+$', '', 'exponential'],
  ['^(a|b|ab)*c$', '', 'exponential'],
  ['^(a*)*$', '', 'exponential'],
  ['^(?:a?b?)+c', '', 'exponential'],
  ['^(\\w+\\s?)*$', '', 'exponential'],
  ['(a+){2,30}$', '', 'exponential'],
  ['^(.*?,){11}P', '', 'exponential'],
  ['^(?:a?){30}a{30}$', '', 'exponential'],
  ['^(([a-z])+.)+[A-Z]([a-z])+$', '', 'exponential'],
  ['(x+x+)+y', '', 'exponential'],
  ['^(A|a)+$', 'i', 'exponential'],
  ['^(?:\\p{L}|é)+$', 'u', 'exponential'],
  ['^(?:(?i:A)|a)+$', '', 'exponential'],
  ['^(?:(?-i:A)|a)+$', 'i', 'exponential'],
  ['^(?:(?-i:A)|b)+$', 'i', 'linear'],
  ['^(?:[\\p{L}--a]|é)+$', 'v', 'exponential'],
  ['^(?=(a+)+$)', '', 'exponential'],
  ['^(?!(a+)+$)', '', 'exponential'],
  ['^(a+)\\1*b$', '', 'exponential'],
  ['^(?<name>a+)\\k<name>*b$', '', 'exponential'],
  ['^(?:(?:a|b)*|c)*$', '', 'exponential'],
  ['^(?:(?:aa)*(?:a{3})*)*b$', '', 'exponential'],
  [' +$', '', 'polynomial'],
  ['^ +| +$', 'g', 'polynomial'],
  ['\\s+$', '', 'polynomial'],
  ['^\\s*(.*?)\\s*$', '', 'polynomial'],
  ['^\\d*1?\\d*x$', '', 'polynomial'],
  ['^(ab)*(ab)*$', '', 'polynomial'],
  ['^[^\\s@]+@[^\\s@]+\\.[^\\s@]+$', '', 'polynomial'],
  ['\\bVersion\\/[\\d.]+ .*\\bSafari\\/', '', 'polynomial'],
  ['^.{0,500}a.{0,500}b$', '', 'polynomial'],
  ['a(?=b+c)', '', 'polynomial'],
  ['(?<=a+)b', '', 'polynomial'],
  ['(?=a+)b', '', 'polynomial'],
  ['\\/\\*.*?\\*\\/', 's', 'polynomial'],
  ['^a.*b.*c$', '', 'polynomial'],
  ['^(?:a|b)*$', '', 'linear'],
  ['^(?:[a-z]+,)*[a-z]+$', '', 'linear'],
  ['^[a-z0-9]+(?:-[a-z0-9]+)*$', '', 'linear'],
  ['(?<! ) +$', '', 'linear'],
  ['[^\\w]+', 'g', 'linear'],
  ['=(.*)$', 's', 'linear'],
  ['^[\\p{L}\\s]+$', 'u', 'linear'],
  ['^(["\'])[^"\']*\\1$', '', 'linear'],
  ['^(?=.*[A-Z])(?=.*\\d).{8,}$', '', 'linear'],
  ['^#?([a-f0-9]{6}|[a-f0-9]{3})$', 'i', 'linear'],
  ['^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$', '', 'linear'],
  [
    "^(?!\\.)(?!.*\\.\\.)([A-Za-z0-9_'+\\-\\.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9\\-]*\\.)+[A-Za-z]{2,}$",
    '',
    'linear',
  ],
  ['^(?:(?:25[0-5]|2[0-4]\\d|1?\\d?\\d)(?:\\.(?!$)|$)){4}$', '', 'linear'],
]

describe('the growth of a pattern', () => {
  for (const [source, flags, growth] of known)
    it(`is ${growth} for /${source}/${flags}`, () => {
      assert.equal(growthOf(source, flags), growth)
    })

  it('is what the steps of a backtracking engine show', () => {
    const hidden = known.filter(([source, flags, growth]) => {
      const graph = patternGraph(source, flags)
      if (graph.hasEmptyCopies) return false
      return growth === 'polynomial' && worstGrowth(graph, 1) <= 8
    })
    assert.deepEqual(hidden, [])
  })

  it('refuses a pattern that is too long to be checked', () => {
    assert.throws(() => growthOf('(?:abcdefghij)'.repeat(300), ''), /too long/)
  })
})

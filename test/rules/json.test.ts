import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { ServiceError } from '../../src/errors.ts'
import {
  array,
  deleteAt,
  elements,
  equal,
  fromPlain,
  fromResult,
  getAt,
  kindOf,
  known,
  members,
  mergeAt,
  normalize,
  object,
  pythonLength,
  stringText,
  stringValue,
  toPlain,
  type Json,
} from '../../src/json/json.ts'
import { workOf } from '../support/counted-work.ts'

const refuses = (code: string, message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof ServiceError)
  assert.equal(error.code, code)
  assert.match(error.message, message)
  return true
}

const json = (): fc.Arbitrary<unknown> => fc.jsonValue({ maxDepth: 4, stringUnit: 'binary' })

const nested = (levels: number) => `${'[{"a":'.repeat(levels / 2)}1${'}]'.repeat(levels / 2)}`

/** The steps that it takes to read an object with this number of keys of 8 characters each. */
const stepsFor = async (keys: number, letter: string): Promise<number> => {
  const keyOf = (at: number) => `${letter}${String(at * 64).padStart(7, '0')}`
  const text = `{${Array.from({ length: keys }, (_, at) => `"${keyOf(at)}":1`).join(',')}}`
  const { steps } = await workOf(() => assert.equal(members(normalize(text))?.size, keys))
  return steps
}

describe('normalize', () => {
  it('keeps the value of every JSON text', () => {
    fc.assert(
      fc.property(json(), fc.constantFrom(undefined, 1, '\t', ' \r\n'), (value, indent) => {
        const text = normalize(JSON.stringify(value, null, indent))
        assert.equal(text, JSON.stringify(value))
      }),
    )
  })

  it('is idempotent', () => {
    fc.assert(
      fc.property(json(), (value) => {
        const once = normalize(` ${JSON.stringify(value, null, 1)} `)
        assert.equal(normalize(once), once)
      }),
    )
  })

  it('accepts exactly what JSON.parse accepts', () => {
    const piece = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      '"a"',
      '"b"',
      '\\',
      '\\u',
      '\\ud83d',
      '0041',
      '\\n',
      '1',
      '-',
      '0',
      '.5',
      'e',
      'E+',
      '2',
      'true',
      'false',
      'null',
      'NaN',
      ' ',
      '\n',
      '\t',
      '\u0000',
      '\u00a0',
      '\ufeff',
      '\ud800',
      'é',
      '//',
      "'",
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 9 }), (pieces) => {
        const text = pieces.join('')
        let expected: unknown
        try {
          expected = JSON.parse(text)
        } catch {
          assert.throws(() => normalize(text), refuses('invalid_json', /position \d+$/))
          return
        }
        // Clients may not send half of a surrogate pair, and a test below proves that.
        assert.deepEqual(JSON.parse(normalize(text, undefined, 'keep')), expected)
      }),
      { numRuns: 3000 },
    )
  })

  const kept: readonly (readonly [string, string, string])[] = [
    [
      'integers above 2^53',
      '[9007199254740993,-123456789012345678901234567890]',
      '[9007199254740993,-123456789012345678901234567890]',
    ],
    ['1.0, -0 and 1e300', '[1.0, -0, 1e300, 1E+2]', '[1.0,-0,1e300,1E+2]'],
    ['the order of keys, integer-like ones too', '{"b":1,"10":2,"9":3,"a":4}', '{"b":1,"10":2,"9":3,"a":4}'],
    ['keys that name a prototype', '{"__proto__":{"x":1},"constructor":2}', '{"__proto__":{"x":1},"constructor":2}'],
    ['an escaped NUL', '"a\\u0000b"', '"a\\u0000b"'],
    ['a pair of surrogates', '"\u{1f600}"', '"\u{1f600}"'],
    ['an escaped pair as the character', '"\\uD83D\\uDE00"', '"\u{1f600}"'],
    ['characters with needless escapes, unescaped', '{"\\u0061\\/":"\\u00e6"}', '{"a/":"æ"}'],
    ['the short escapes', '"\\"\\\\\\b\\f\\n\\r\\t"', '"\\"\\\\\\b\\f\\n\\r\\t"'],
    ['the last of several equal keys at the first place', '{"a":1,"b":2,"a":3}', '{"a":3,"b":2}'],
    ['equal keys of different spelling', '{"a":1,"b":[{"c":1,"c":2}],"\\u0061":3}', '{"a":3,"b":[{"c":2}]}'],
    [
      'equal keys among many',
      '{"1":0,"2":0,"3":0,"4":0,"5":0,"6":0,"7":0,"8":0,"9":0,"2":1}',
      '{"1":0,"2":1,"3":0,"4":0,"5":0,"6":0,"7":0,"8":0,"9":0}',
    ],
    ['no whitespace', ' { "a" : [ 1 , { } , [ ] ] }\r\n\t', '{"a":[1,{},[]]}'],
    ['a bare scalar', ' true ', 'true'],
  ]
  for (const [what, given, stored] of kept) {
    it(`keeps ${what} (HTTP-05)`, () => {
      assert.equal(normalize(given), stored)
      assert.equal(normalize(stored), stored)
    })
  }

  const refused: readonly (readonly [string, string])[] = [
    ['', 'unexpected end at position 0'],
    ['   ', 'unexpected end at position 3'],
    ['NaN', 'unexpected "N" at position 0'],
    ['Infinity', 'unexpected "I" at position 0'],
    ['-Infinity', 'unexpected "I" at position 1'],
    ['undefined', 'unexpected "u" at position 0'],
    ['tru', 'unexpected "t" at position 0'],
    ['nulll', 'unexpected "l" at position 4'],
    ['01', 'unexpected "1" at position 1'],
    ['+1', 'unexpected "+" at position 0'],
    ['1.', 'unexpected end at position 2'],
    ['.5', 'unexpected "." at position 0'],
    ['1e', 'unexpected end at position 2'],
    ['0x10', 'unexpected "x" at position 1'],
    ["{'a':1}", `unexpected "'" at position 1`],
    ['{a:1}', 'unexpected "a" at position 1'],
    ['{"a" 1}', 'unexpected "1" at position 5'],
    ['{"a":1,}', 'unexpected "}" at position 7'],
    ['{"a":1 "b":2}', 'unexpected "\\"" at position 7'],
    ['[1,]', 'unexpected "]" at position 3'],
    ['[1 2]', 'unexpected "2" at position 3'],
    ['[1', 'unexpected end at position 2'],
    ['{"a":', 'unexpected end at position 5'],
    ['[]]', 'unexpected "]" at position 2'],
    ['"a', 'unexpected end at position 2'],
    ['"a\nb"', 'unexpected "\\n" at position 2'],
    ['"a\u0000b"', 'unexpected "\\u0000" at position 2'],
    ['"\\x"', 'unexpected "x" at position 2'],
    ['"\\u12g4"', 'unexpected "g" at position 5'],
    ['"\\u12', 'unexpected end at position 5'],
    ['"\\', 'unexpected end at position 2'],
    ['\ufeff1', 'unexpected "\ufeff" at position 0'],
    ['\u00a01', 'unexpected "\u00a0" at position 0'],
    ['1 // one', 'unexpected "/" at position 2'],
    ['1 2', 'unexpected "2" at position 2'],
  ]
  for (const [given, sentence] of refused) {
    it(`rejects ${JSON.stringify(given)}`, () => {
      assert.throws(
        () => normalize(given),
        (error) =>
          error instanceof ServiceError &&
          error.code === 'invalid_json' &&
          error.message === `The input is not valid JSON: ${sentence}`,
      )
    })
  }

  it('accepts 64 nested containers and rejects the 65th', () => {
    assert.equal(normalize(nested(64)), nested(64))
    assert.throws(() => normalize(`[${nested(64)}]`), refuses('invalid_value', /nested deeper than 64 levels$/))
    assert.equal(normalize('[[1]]', 2), '[[1]]')
    assert.throws(() => normalize('[[[1]]]', 2), refuses('invalid_value', /nested deeper than 2 levels$/))
  })

  it('rejects 1 MB of open brackets after the first 65 of them (HTTP-02)', () => {
    assert.throws(() => normalize('['.repeat(1_000_000)), refuses('invalid_value', /nested deeper than 64 levels$/))
  })

  it('rejects 10 000 nested objects after the first 65 of them (HTTP-02)', () => {
    assert.throws(
      () => normalize(`${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`),
      refuses('invalid_value', /nested deeper than 64 levels$/),
    )
  })

  it('does work in proportion to the number of keys, whether or not they look like integers (HTTP-02)', async () => {
    const [few, many] = [await stepsFor(5_000, '1'), await stepsFor(100_000, '1')]
    assert.ok(many <= 20 * few, `${many} steps for 20 times the keys, ${few} for the keys`)
    assert.equal(await stepsFor(100_000, 'a'), many)
  })

  it('needs a Node.js whose hashes of keys that look like integers have a seed (HTTP-02)', () => {
    // Without the seed, keys with equal low bits collide, and no count of steps shows the cost. 24.14.1 and later have the seed.
    const source = readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')
    const { engines } = JSON.parse(source) as { engines: { node: string } }
    const [, major = '', minor = ''] = /^>=(\d+)\.(\d+)$/.exec(engines.node) ?? []
    assert.ok(Number(major) > 24 || (major === '24' && Number(minor) > 14), engines.node)
  })
})

describe('plain values', () => {
  it('become the text that JSON.stringify writes, and can be read back', () => {
    fc.assert(
      fc.property(json(), (value) => {
        const text = fromPlain(value)
        assert.deepEqual(toPlain(text), value)
        assert.equal(normalize(text), text)
      }),
    )
  })

  it('may contain dates and other values with toJSON, and members that are undefined', () => {
    const custom = { toJSON: (key: string) => `at ${key}` }
    assert.equal(
      fromPlain({ when: new Date(0), gone: undefined, list: [custom], boxed: new String('x'), minus: -0 }),
      '{"when":"1970-01-01T00:00:00.000Z","list":["at 0"],"boxed":"x","minus":-0}',
    )
  })

  it('may contain plain objects without a prototype and of another realm', () => {
    const bare: unknown = Object.assign(Object.create(null), { a: 1 })
    const foreign: unknown = runInNewContext('({ b: [2] })')
    assert.equal(fromPlain([bare, foreign]), '[{"a":1},{"b":[2]}]')
  })

  it('may contain one object at two places', () => {
    const shared = { a: 1 }
    assert.equal(fromPlain([shared, shared]), '[{"a":1},{"a":1}]')
  })

  it('may contain no lone surrogate (HTTP-05)', () => {
    assert.equal(fromPlain({ '\u0000': 'a\ud83d\ude00b\\ud800' }), '{"\\u0000":"a😀b\\\\ud800"}')
    for (const value of ['\ud800', ['a', 'b\udfff'], { '\udc00': 1 }, { a: { b: 'x\ud83d' } }])
      assert.throws(
        () => fromPlain(value),
        /^ServiceError: Cannot store the value as JSON: it contains half of a surrogate/,
      )
    assert.equal(fromResult({ '\udc00': 'a\ud800b\u0000' }), '{"\ufffd":"a\ufffdb\\u0000"}')
  })

  it('keep a key named __proto__ as plain data (HTTP-03)', () => {
    const text = normalize('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}')
    assert.equal(fromPlain(toPlain(text)), text)
    assert.equal(Reflect.get({}, 'polluted'), undefined)
  })

  const loop: { inner: unknown[] } = { inner: [] }
  loop.inner.push(loop)
  let deep: unknown = 1
  for (let level = 0; level < 65; level++) deep = [deep]
  const refused: readonly (readonly [string, unknown, RegExp])[] = [
    ['undefined', undefined, /it contains undefined$/],
    ['undefined in an array', [1, undefined], /it contains undefined at "1"$/],
    ['a hole in an array', [1, , 2], /it contains undefined at "1"$/], // oxlint-disable-line no-sparse-arrays
    ['a function', { a: { b: () => 1 } }, /it contains a function at "a" \/ "b"$/],
    ['a symbol', [Symbol('s')], /it contains Symbol\(s\) at "0"$/],
    ['NaN', { n: Number.NaN }, /it contains NaN at "n"$/],
    ['Infinity', -Infinity, /it contains -Infinity$/],
    ['a bigint', { n: 1n }, /it contains a bigint at "n"$/],
    ['a Map', { m: new Map([[1, 2]]) }, /it contains an instance of Map instead of a plain object at "m"$/],
    ['a Set', [new Set([1])], /it contains an instance of Set instead of a plain object at "0"$/],
    ['a RegExp', /x/, /it contains an instance of RegExp instead of a plain object$/],
    ['bytes', { b: new Uint8Array(2) }, /it contains an instance of Uint8Array instead of a plain object at "b"$/],
    ['an Error', new Error('x'), /it contains an instance of Error instead of a plain object$/],
    [
      'an instance of a class',
      new (class Note extends Object {})(),
      /it contains an instance of Note instead of a plain object$/,
    ],
    [
      'an instance of a class without a name',
      [new (class extends Object {})()],
      /it contains an instance of a class instead of/,
    ],
    ['a cycle', loop, /it contains a reference to itself at "inner" \/ "0"$/],
    ['65 nested levels', deep, /it contains more than 64 nested levels/],
  ]
  for (const [what, value, sentence] of refused) {
    it(`are rejected when they contain ${what}`, () => {
      assert.throws(() => fromPlain(value), refuses('invalid_value', sentence))
    })
  }
})

type Plain = { [name: string]: Plain } | string | number | null | Plain[]

const key = fc.constantFrom('a', 'b', '1', '', '__proto__', 'constructor', 'a"b', 'toString')
const path = fc.array(key, { maxLength: 4 })
const tree = fc.letrec<{ node: Plain }>((tie) => ({
  node: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom<Plain>(1, 'x', null, [], [{ a: 1 }], {}),
    fc.dictionary(key, tie('node'), { maxKeys: 4, noNullPrototype: true }),
  ),
})).node

const isPlainObject = (value: Plain | undefined): value is { [name: string]: Plain } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const own = (value: Plain | undefined, name: string): Plain | undefined =>
  isPlainObject(value) && Object.hasOwn(value, name) ? value[name] : undefined

const withMember = (value: { [name: string]: Plain }, name: string, member: Plain): Plain =>
  Object.fromEntries([...Object.entries(value), [name, member]])

function modelMerge(into: Plain | undefined, from: Plain): Plain {
  if (!isPlainObject(into) || !isPlainObject(from)) return from
  let merged: Plain = into
  for (const [name, member] of Object.entries(from)) {
    if (isPlainObject(merged)) merged = withMember(merged, name, modelMerge(own(into, name), member))
  }
  return merged
}

/** The merged value, or null when a value on the path is not an object. */
function modelMergeAt(into: Plain | undefined, steps: readonly string[], value: Plain): { value: Plain } | null {
  const [step, ...rest] = steps
  if (step === undefined) return { value: modelMerge(into, value) }
  if (into !== undefined && !isPlainObject(into)) return null
  const below = modelMergeAt(own(into, step), rest, value)
  return below === null ? null : { value: withMember(into ?? {}, step, below.value) }
}

function modelDelete(value: Plain, steps: readonly string[]): { value: Plain } | null {
  const [step, ...rest] = steps
  if (step === undefined || !isPlainObject(value)) return null
  const member = own(value, step)
  if (member === undefined) return null
  if (rest.length === 0) return { value: Object.fromEntries(Object.entries(value).filter(([name]) => name !== step)) }
  const below = modelDelete(member, rest)
  return below === null ? null : { value: withMember(value, step, below.value) }
}

describe('a path', () => {
  it('finds the value that a walk over own keys finds', () => {
    fc.assert(
      fc.property(tree, path, (value, steps) => {
        let expected: Plain | undefined = value
        for (const step of steps) expected = own(expected, step)
        const found = getAt(fromPlain(value), steps)
        assert.deepEqual(found === undefined ? undefined : toPlain(found), expected)
      }),
      { numRuns: 1000 },
    )
  })

  it('merges like the model and conflicts where the model does', () => {
    fc.assert(
      fc.property(fc.option(tree, { nil: undefined }), path, tree, (stored, steps, value) => {
        const expected = modelMergeAt(stored, steps, value)
        const write = () => mergeAt(stored === undefined ? undefined : fromPlain(stored), steps, fromPlain(value))
        if (expected === null) {
          assert.throws(write, refuses('conflict', /^Cannot write .* is not an object$/s))
        } else {
          const merged = write()
          assert.deepEqual(toPlain(merged), expected.value)
          assert.equal(normalize(merged), merged)
        }
      }),
      { numRuns: 2000 },
    )
  })

  it('deletes like the model', () => {
    fc.assert(
      fc.property(tree, path, (value, steps) => {
        const expected = modelDelete(value, steps)
        const left = deleteAt(fromPlain(value), steps)
        assert.deepEqual(left === undefined ? null : { value: toPlain(left) }, expected)
        if (left !== undefined) assert.equal(normalize(left), left)
      }),
      { numRuns: 1000 },
    )
  })

  it('leaves every other text unchanged', () => {
    const stored = normalize('{"10":1.0,"9":{"big":9007199254740993,"x":{"y":-0}},"s":"\\u0000"}')
    assert.equal(
      mergeAt(stored, ['9', 'x'], normalize('{"z":1e300}')),
      '{"10":1.0,"9":{"big":9007199254740993,"x":{"y":-0,"z":1e300}},"s":"\\u0000"}',
    )
    assert.equal(
      mergeAt(stored, ['8', 'a'], normalize('2')),
      '{"10":1.0,"9":{"big":9007199254740993,"x":{"y":-0}},"s":"\\u0000","8":{"a":2}}',
    )
    assert.equal(deleteAt(stored, ['9', 'x', 'y']), '{"10":1.0,"9":{"big":9007199254740993,"x":{}},"s":"\\u0000"}')
    assert.equal(deleteAt(stored, ['10']), '{"9":{"big":9007199254740993,"x":{"y":-0}},"s":"\\u0000"}')
    assert.equal(deleteAt(stored, ['s']), '{"10":1.0,"9":{"big":9007199254740993,"x":{"y":-0}}}')
    assert.equal(getAt(stored, ['9', 'big']), '9007199254740993')
  })

  it('replaces a scalar at its end, and cannot write below a scalar', () => {
    assert.equal(mergeAt(normalize('{"a":1}'), ['a'], normalize('{"b":2}')), '{"a":{"b":2}}')
    assert.equal(mergeAt(undefined, ['a', 'b'], normalize('null')), '{"a":{"b":null}}')
    const below: readonly (readonly [string, string])[] = [
      ['{"a":1}', 'Cannot write "a/b": the value at "a" is not an object'],
      ['{"a":null}', 'Cannot write "a/b": the value at "a" is not an object'],
      ['{"a":[{"b":1}]}', 'Cannot write "a/b": the value at "a" is not an object'],
      ['"text"', 'Cannot write "a/b": the stored value is not an object'],
    ]
    for (const [stored, message] of below) {
      assert.throws(
        () => mergeAt(normalize(stored), ['a', 'b'], normalize('1')),
        (error) => error instanceof ServiceError && error.message === message,
      )
    }
  })

  it('cannot nest deeper than 64 levels', () => {
    const steps = Array.from({ length: 63 }, () => 'a')
    assert.equal(kindOf(mergeAt(undefined, steps, normalize('[1]'))), 'object')
    assert.throws(
      () => mergeAt(undefined, steps, normalize('[[1]]')),
      refuses('invalid_value', /nested deeper than 64 levels/),
    )
  })
})

describe('containers', () => {
  it('can be split and joined without loss', () => {
    fc.assert(
      fc.property(tree, (value) => {
        const text = fromPlain(value)
        const parts = members(text)
        const items = elements(text)
        if (parts !== null) assert.equal(object(parts), text)
        else if (items !== null) assert.equal(array(items), text)
        else assert.ok(typeof value !== 'object' || value === null)
      }),
    )
  })

  it('name their members by the decoded key', () => {
    assert.deepEqual(
      [...(members(normalize('{"a\\"b":1,"\\u0001":2,"10":3,"9":4}')) ?? [])],
      [
        ['a"b', '1'],
        ['\u0001', '2'],
        ['10', '3'],
        ['9', '4'],
      ],
    )
  })

  it('keep the last of two members with the same name', () => {
    assert.equal(
      object([
        ['a', known('1')],
        ['b', known('2')],
        ['a', known('3')],
      ]),
      '{"a":3,"b":2}',
    )
  })
})

describe('strings', () => {
  it('can be encoded and decoded, and no other value decodes to a string', () => {
    assert.equal(stringText('a"\ud800'), '"a\\"\\ud800"')
    assert.equal(stringValue(known('"a\\"\\ud800"')), 'a"\ud800')
    assert.equal(stringValue(known('""')), '')
    assert.equal(stringValue(known('12')), null)
  })
})

describe('equality', () => {
  const cases: readonly (readonly [string, string, boolean])[] = [
    ['1', '1.0', true],
    ['100', '1e2', true],
    ['-0', '0', true],
    ['0.10', '1e-1', true],
    ['9007199254740992', '9007199254740993', false],
    ['1e400', '10e399', true],
    ['1e99999999999999999999999999999999999', '1e99999999999999999999999999999999999', true],
    ['1', '"1"', false],
    ['1', 'true', false],
    ['null', 'false', false],
    ['{"a":1,"b":[1,{"c":2}]}', '{"b":[1.0,{"c":2e0}],"a":1}', true],
    ['{"a":1}', '{"a":1,"b":2}', false],
    ['{"a":1}', '{"b":1}', false],
    ['[1,2]', '[2,1]', false],
    ['[]', '{}', false],
    ['"a"', '"a"', true],
    ['"a"', '"A"', false],
  ]
  for (const [a, b, same] of cases) {
    it(`of ${a} and ${b} is ${same}`, () => {
      assert.equal(equal(known(a), known(b)), same)
      assert.equal(equal(known(b), known(a)), same)
    })
  }
})

describe('pythonLength', () => {
  const cases: readonly (readonly [string, number])[] = [
    ['{"a":1,"b":[1,2]}', 21], // {"a": 1, "b": [1, 2]}
    ['"a,b:c"', 7],
    ['"æ"', 8], // "\u00e6"
    ['"\u{1f600}"', 14], // "\ud83d\ude00"
    ['"\u007f"', 8], // "\u007f"
    ['"\\n\\"\\\\"', 8],
    ['"\\ud800"', 8],
    ['{}', 2],
    ['1.50', 4],
  ]
  for (const [text, length] of cases) {
    it(`of ${text} is ${length}`, () => {
      assert.equal(pythonLength(known(text)), length)
    })
  }
})

const typed: Json = { a: [1, 'x', null, { b: true }] }
describe('the type of plain values', () => {
  it('accepts all types of JSON', () => {
    assert.equal(fromPlain(typed), '{"a":[1,"x",null,{"b":true}]}')
  })
})

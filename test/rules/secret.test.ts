import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import crypto from 'node:crypto'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it, mock } from 'node:test'
import { inspect, promisify } from 'node:util'
import { ServiceError } from '../../src/errors.ts'
import { developmentKeyRing } from '../../src/secret/development-key.ts'
import { hashSecret, sameSecret } from '../../src/secret/hash.ts'
import { generateKey, KeyRingError, parseKeyRing } from '../../src/secret/key-ring.ts'
import { randomId, randomPassphrase, randomToken } from '../../src/secret/random.ts'
import { actorPassphrase, bindingOf } from '../../src/secret/sealed-columns.ts'
import { needsReseal, open, seal, type Sealed } from '../../src/secret/sealed.ts'

const run = promisify(execFile)

const keyA = 'wJ8mYq0bT3uZ5rKfX1sVnD7pLhEoGc2iRt4yUaB9QkM'
const keyB = '3Fh7sQpZ1xLw9vTnB5mKc0RdYgUjEaO8iS2kXq4WtHI'
const ringA = parseKeyRing(`a:${keyA}`)
const ringB = parseKeyRing(`b:${keyB}`)
const both = parseKeyRing(`b:${keyB},a:${keyA}`)
const place = ['actor1', 'actor.passphrase']

function refusal(work: () => unknown): ServiceError {
  try {
    work()
  } catch (error) {
    assert.ok(error instanceof ServiceError)
    return error
  }
  assert.fail('it was not refused')
}

describe('a key ring', () => {
  it('seals with its first key and opens with every key', () => {
    assert.equal(both.currentId, 'b')
    assert.deepEqual([...both.keys.keys()], ['b', 'a'])
  })

  it('accepts whitespace around entries, and ids of letters, digits, "_" and "-"', () => {
    assert.equal(parseKeyRing(` 2026-11_A:${keyA} , b:${keyB}\n`).currentId, '2026-11_A')
  })

  it('accepts generated keys, whose ids never repeat', () => {
    const [first, second] = [generateKey(), generateKey()]
    const ring = parseKeyRing(`${first},${second}`)
    assert.equal(ring.keys.size, 2)
    assert.match(first, /^k[0-9a-f]{12}:[A-Za-z0-9_-]{43}$/)
  })

  const refused: [what: string, text: string, message: string][] = [
    ['an empty string', '', 'The key ring is empty: it needs at least one entry "id:key"'],
    ['only whitespace', ' \n', 'The key ring is empty: it needs at least one entry "id:key"'],
    ['a key without id', keyA, 'Entry 1 of the key ring has no ":" between id and key'],
    ['a comma at the end', `a:${keyA},`, 'Entry 2 of the key ring has no ":" between id and key'],
    [
      'key and id in the wrong order',
      `${keyA}:a`,
      'The id of entry 1 of the key ring is not 1 to 32 of the characters A-Z a-z 0-9 _ -',
    ],
    [
      'an id with a dot',
      `a.b:${keyA}`,
      'The id of entry 1 of the key ring is not 1 to 32 of the characters A-Z a-z 0-9 _ -',
    ],
    [
      'a key in plain base64',
      `a:${keyA.slice(0, 40)}+/=`,
      'Key "a" contains characters that are not base64url (A-Z a-z 0-9 _ -, without padding)',
    ],
    ['a short key', `a:${keyA.slice(0, 22)}`, 'Key "a" has 16 bytes instead of 32'],
    ['a long key', `a:${keyA}${keyA}`, 'Key "a" has 64 bytes instead of 32'],
    ['no key', 'a:', 'Key "a" has 0 bytes instead of 32'],
    ['stray bits in the last character', `a:${keyA.slice(0, 42)}N`, 'Key "a" is not well-formed base64url'],
    [
      'one byte repeated',
      `a:${Buffer.alloc(32, 7).toString('base64url')}`,
      'Key "a" is not random bytes: it is typed text or a guessable pattern',
    ],
    [
      'bytes that count up',
      `a:${Buffer.from(Array.from({ length: 32 }, (_, i) => i)).toString('base64url')}`,
      'Key "a" is not random bytes: it is typed text or a guessable pattern',
    ],
    [
      'typed text',
      `a:${Buffer.from('the quick brown fox jumps over l').toString('base64url')}`,
      'Key "a" is not random bytes: it is typed text or a guessable pattern',
    ],
    ['a repeated id', `a:${keyA},a:${keyB}`, 'Two entries of the key ring have the id "a"'],
    ['a repeated key', `a:${keyA},b:${keyA}`, 'The entries "a" and "b" of the key ring are the same key'],
  ]
  for (const [what, text, message] of refused) {
    it(`rejects ${what} with a message that does not contain the key`, () => {
      assert.throws(() => parseKeyRing(text), { name: 'KeyRingError', message })
      assert.ok(!message.includes(keyA.slice(0, 12)))
    })
  }

  it('shows no key when it is printed', () => {
    const printed = JSON.stringify(ringA) + JSON.stringify([...ringA.keys]) + inspect(ringA, { depth: 9 })
    assert.ok(!printed.includes(keyA.slice(0, 8)))
  })
})

describe('a sealed secret', () => {
  it('is unreadable in the store and opens to exactly the sealed string (SEC-02)', () => {
    for (const text of ['', 'correct horse', 'ünï·コード·🎭', 'x'.repeat(100_000)]) {
      const sealed = seal(ringA, text, place)
      assert.equal(open(ringA, sealed, place), text)
      assert.match(sealed, /^v1\.a\.[A-Za-z0-9_-]+$/)
    }
    assert.ok(!Buffer.from(seal(ringA, 'correct horse', place).slice(5), 'base64url').includes('correct'))
  })

  it('is a different string each time, so equal secrets cannot be recognized (SEC-02)', () => {
    assert.notEqual(seal(ringA, 'same', place), seal(ringA, 'same', place))
  })

  const elsewhere: [what: string, binding: string[]][] = [
    ['another actor', ['actor2', 'actor.passphrase']],
    ['another field', ['actor1', 'trust.secret']],
    ['a longer key', ['actor1', 'actor.passphrase', 'peer1']],
    ['parts cut at another point', ['actor1actor', '.passphrase']],
    ['parts joined into one', ['actor1,actor.passphrase']],
    ['an empty place', []],
  ]
  for (const [what, binding] of elsewhere) {
    it(`cannot be opened after a move to ${what} (SEC-02)`, () => {
      const sealed = seal(ringA, 'secret', place)
      const error = refusal(() => open(ringA, sealed, binding))
      assert.equal(error.code, 'server_error')
      assert.match(error.detail.reason ?? '', /key "a" is not the one it was sealed with, or it was changed/)
    })
  }

  it('cannot be opened after a change of any single character (SEC-02)', () => {
    const sealed = seal(ringA, 'secret', place)
    for (let at = 0; at < sealed.length - 1; at++) {
      const other = sealed[at] === 'A' ? 'B' : 'A'
      const changed = (sealed.slice(0, at) + other + sealed.slice(at + 1)) as Sealed
      // The id of the key is at 3: the value then needs a key that is missing.
      assert.equal(refusal(() => open(ringA, changed, place)).code, at === 3 ? 'secret_lost' : 'server_error')
    }
  })

  it('has only one spelling, and no other Base64url of the same bytes can be opened (SEC-02)', () => {
    // Secrets of these lengths leave zero, two and four unused bits in the last character.
    for (const secret of ['', 's', 'se', 'sec']) {
      const sealed = seal(ringA, secret, place)
      const same = Buffer.from(sealed.slice(5), 'base64url')
      const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
      const others = [
        ...['A', '_', '=', '+', '/', '.', ' ', '\n', '~', 'é'].map((surplus) => sealed + surplus),
        `${sealed}==`,
        `v1.a. ${sealed.slice(5)}`,
        `v1.a.${sealed.slice(5, 9)}\n${sealed.slice(9)}`,
        ...Array.from(alphabet, (last) => sealed.slice(0, -1) + last),
        sealed.replaceAll('-', '+'),
        sealed.replaceAll('_', '/'),
      ].filter((text) => text !== sealed)
      const spelt = others.filter((text) => Buffer.from(text.slice(5), 'base64url').equals(same))
      assert.ok(spelt.length >= 10, `${spelt.length} spellings`)
      for (const text of others) {
        assert.equal(refusal(() => open(ringA, text as Sealed, place)).code, 'server_error', JSON.stringify(text))
      }
      assert.equal(open(ringA, sealed, place), secret)
    }
  })

  it('cannot be opened when it was cut or was never sealed (SEC-02)', () => {
    const sealed = seal(ringA, 'secret', place)
    for (const text of [
      '',
      'secret',
      'v1',
      'v1.',
      'v1..',
      'v1.a',
      'v1.a.',
      'v1.a.AAAA',
      'v2.a.AAAA',
      sealed.slice(0, -4),
    ]) {
      assert.equal(refusal(() => open(ringA, text as Sealed, place)).code, 'server_error')
    }
  })

  it('is bound to its actor and its field (SEC-02)', () => {
    assert.deepEqual(bindingOf(actorPassphrase, 'actor1'), ['actor1', 'actor.passphrase'])
  })

  it('stays readable after a new key became the first, and new values use the new key (SEC-03)', () => {
    const old = seal(ringA, 'secret', place)
    assert.equal(open(both, old, place), 'secret')
    assert.equal(needsReseal(both, old), true)
    const renewed = seal(both, open(both, old, place), place)
    assert.equal(needsReseal(both, renewed), false)
    assert.equal(open(ringB, renewed, place), 'secret')
  })

  it('causes an error that names the key after that key was removed (SEC-03)', () => {
    const error = refusal(() => open(ringB, seal(ringA, 'secret', place), place))
    assert.equal(error.status, 500)
    assert.equal(error.code, 'secret_lost')
    assert.equal(error.message, 'A stored secret cannot be read, because the service no longer has its key')
    assert.equal(
      error.detail.reason,
      'Cannot open the secret of ["actor1","actor.passphrase"]: key "a" is not in the key ring',
    )
  })

  it('causes an error, not garbage, when another key has the same id (SEC-03)', () => {
    const error = refusal(() => open(parseKeyRing(`a:${keyB}`), seal(ringA, 'secret', place), place))
    assert.equal(error.status, 500)
    assert.equal(
      error.detail.reason,
      'Cannot open the secret of ["actor1","actor.passphrase"]: key "a" is not the one it was sealed with, or it was ' +
        'changed, or it belongs to another place',
    )
  })

  it('is rejected when half a surrogate pair would be opened as another string', () => {
    assert.equal(refusal(() => seal(ringA, 'a\ud800', place)).code, 'invalid_value')
  })
})

describe('a secret in comparison', () => {
  it('is hashed to SHA-256 in base64url', () => {
    assert.equal(hashSecret('abc'), 'ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0')
  })

  it('equals only a string with the same characters', () => {
    assert.equal(sameSecret('correct horse', 'correct horse'), true)
    assert.equal(sameSecret('', ''), true)
    for (const other of [
      '',
      'c',
      'correct hors',
      'correct horsf',
      'Correct horse',
      'correct horse ',
      'correct horse\0',
    ]) {
      assert.equal(sameSecret(other, 'correct horse'), false)
    }
  })

  it('is compared by digests of one length in constant time, whatever the lengths and the common prefix (SEC-06)', () => {
    const compare = mock.method(crypto, 'timingSafeEqual')
    syncBuiltinESMExports()
    try {
      for (const guess of ['', 'c', 'correct hors', 'correct horsf', 'correct horse', 'x'.repeat(10_000)]) {
        sameSecret(guess, 'correct horse')
      }
    } finally {
      compare.mock.restore()
      syncBuiltinESMExports()
    }
    const lengths = compare.mock.calls.map((call) => call.arguments.map((argument) => argument.byteLength))
    assert.equal(lengths.length, 6)
    for (const pair of lengths) assert.deepEqual(pair, [64, 64])
  })
})

describe('generated ids and tokens', () => {
  it('do not repeat in a million ids (SEC-08)', () => {
    const seen = new Set<string>()
    for (let n = 0; n < 1_000_000; n++) seen.add(randomId())
    assert.equal(seen.size, 1_000_000)
  })

  it('do not repeat in a million tokens (SEC-08)', () => {
    const seen = new Set<string>()
    for (let n = 0; n < 1_000_000; n++) seen.add(randomToken())
    assert.equal(seen.size, 1_000_000)
  })

  it('do not repeat bytes that were left when the source was read again (SEC-08)', () => {
    const seen = new Set<string>()
    for (let n = 0; n < 1000; n++) {
      const token = Buffer.from(randomToken(1024 + n), 'base64url')
      for (let at = 0; at + 16 <= token.length; at += 16) seen.add(token.subarray(at, at + 16).toString('hex'))
    }
    const pieces = Array.from({ length: 1000 }, (_, n) => Math.floor((1024 + n) / 16)).reduce((sum, n) => sum + n, 0)
    assert.equal(seen.size, pieces)
    assert.equal(Buffer.from(randomToken(10_000), 'base64url').length, 10_000)
  })

  it('have at least 128 bits, each used once, from the secure random source of the system (SEC-08)', () => {
    let filled = 0
    const bytesAt = (start: number, count: number): Buffer =>
      Buffer.from(Array.from({ length: count }, (_, index) => (start + index) % 251))
    const source = mock.method(crypto, 'randomFillSync', (buffer: Buffer) => {
      bytesAt(filled, buffer.length).copy(buffer)
      filled += buffer.length
      return buffer
    })
    syncBuiltinESMExports()
    try {
      // Uses what was read before.
      while (source.mock.callCount() === 0) randomId()
      assert.equal(filled, 4096)
      let at = 16
      const next = (count: number): Buffer => bytesAt((at += count) - count, count)
      assert.equal(randomId(), next(16).toString('hex'))
      assert.equal(randomPassphrase(), next(20).toString('hex'))
      assert.equal(randomToken(), next(32).toString('base64url'))
      assert.equal(randomToken(16), next(16).toString('base64url'))
      assert.equal(filled, 4096)
    } finally {
      source.mock.restore()
      syncBuiltinESMExports()
    }
    for (const bytes of [15, 0, -1, Number.NaN]) assert.throws(() => randomToken(bytes), RangeError)
  })
})

describe('the key file of a development machine', () => {
  let folder = ''
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'troupe-key-'))
  })
  after(() => rm(folder, { recursive: true }))

  it('is created at the first start, readable by its owner only, and read at the next start', async () => {
    const path = join(folder, 'new', 'data', 'keys')
    const first = await developmentKeyRing(path)
    const second = await developmentKeyRing(path)
    assert.equal(open(second, seal(first, 'secret', place), place), 'secret')
    if (process.platform !== 'win32') assert.equal((await stat(path)).mode & 0o777, 0o600)
    assert.deepEqual(await readdir(join(folder, 'new', 'data')), ['keys'])
  })

  it('is the same for many simultaneous starts, in one process and in several', async () => {
    const path = join(folder, 'race')
    const url = new URL('../../src/secret/development-key.ts', import.meta.url).href
    const script = `const { developmentKeyRing } = await import(${JSON.stringify(url)})
      process.stdout.write((await developmentKeyRing(${JSON.stringify(path)})).currentId)`
    const others = Array.from({ length: 3 }, () =>
      run(process.execPath, ['--input-type=module', '--eval', script]).then(({ stdout }) => stdout),
    )
    const own = Array.from({ length: 30 }, async () => (await developmentKeyRing(path)).currentId)
    assert.equal(new Set(await Promise.all([...others, ...own])).size, 1)
    const left = (await readdir(folder)).filter((name) => name.startsWith('race'))
    assert.deepEqual(left, ['race'])
  })

  it('is named in the error and left unchanged when it cannot be read or parsed', async () => {
    await assert.rejects(developmentKeyRing(folder), {
      name: 'KeyRingError',
      message: `The key file ${folder} cannot be read (EISDIR)`,
    })
    const damaged = join(folder, 'damaged')
    await writeFile(damaged, '')
    await assert.rejects(developmentKeyRing(damaged), {
      name: 'KeyRingError',
      message: `The key file ${damaged} cannot be used. The key ring is empty: it needs at least one entry "id:key"`,
    })
    assert.equal(await readFile(damaged, 'utf8'), '')
    await assert.rejects(developmentKeyRing(join(damaged, 'below')), KeyRingError)
  })
})

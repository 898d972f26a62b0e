/** The behavior of every storage for the bytes of files. */
import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { DirectoryBytes } from '../../src/object/directory.ts'
import type { FileBytes } from '../../src/object/file-bytes.ts'
import { MemoryBytes } from '../../src/object/memory.ts'
import { S3Bytes, s3Settings } from '../../src/object/s3.ts'
import { type FakeS3, startS3, testKey } from '../support/s3.ts'

let folder = ''
let s3: FakeS3
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'troupe-bytes-'))
  s3 = await startS3()
})
after(async () => {
  await s3.close()
  await rm(folder, { recursive: true })
})

const s3Place = (endpoint: string, bucket = 'bucket'): string =>
  `s3://${bucket}/some/prefix?endpoint=${endpoint}&region=${testKey.region}`
const openS3 = (bucket?: string): FileBytes =>
  new S3Bytes(s3Settings(s3Place(s3.endpoint, bucket), testKey), { pauseMs: 1 })

const storages: readonly (readonly [name: string, open: () => FileBytes])[] = [
  ['a folder', () => new DirectoryBytes(join(folder, 'files'))],
  ['the memory', () => new MemoryBytes()],
  ['an S3-compatible store', () => openS3()],
]

const keys = ['00112233445566778899aabbccddeeff', 'ff112233445566778899aabbccddeeff'] as const

async function* pieces(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text)
}

async function textOf(bytes: FileBytes, key: string, range: { start: number; end: number } | null = null) {
  const opened = await bytes.open(key, range)
  if (opened === null) return null
  return [opened.size, Buffer.concat(await Array.fromAsync(opened.bytes)).toString()]
}

for (const [name, open] of storages) {
  describe(`the storage of files in ${name}`, () => {
    let bytes: FileBytes
    before(() => {
      bytes = open()
    })
    after(() => bytes.close())

    it('keeps objects, and returns them or a part of them', async () => {
      await bytes.put(keys[0], pieces('hello ', 'world'))
      await bytes.put(keys[1], pieces())
      assert.deepEqual(await textOf(bytes, keys[0]), [11, 'hello world'])
      assert.deepEqual(await textOf(bytes, keys[0], { start: 2, end: 7 }), [11, 'llo w'])
      assert.deepEqual(await textOf(bytes, keys[0], { start: 3, end: 3 }), [11, ''])
      assert.deepEqual(await textOf(bytes, keys[1]), [0, ''])
    })

    it('has no object after its deletion, which may be repeated', async () => {
      await bytes.delete(keys[0])
      await bytes.delete(keys[0])
      assert.equal(await textOf(bytes, keys[0]), null)
    })

    it('keeps an object of many pieces', async () => {
      await bytes.put(keys[0], pieces(...Array.from({ length: 40 }, (_, index) => String(index % 10).repeat(50_000))))
      const [size, text] = (await textOf(bytes, keys[0])) ?? []
      assert.equal(size, 2_000_000)
      assert.equal(String(text).slice(1_999_990), '9999999999')
    })

    it('releases an object whose bytes are not read', async () => {
      const opened = await bytes.open(keys[0], null)
      await opened?.close()
      assert.equal(opened?.size, 2_000_000)
    })

    it('passes on the error of a source', async () => {
      const failing = async function* (): AsyncGenerator<Uint8Array> {
        yield Buffer.from('x')
        throw new Error('The source failed')
      }
      await assert.rejects(bytes.put('aa112233445566778899aabbccddeeff', failing()), { message: 'The source failed' })
      assert.equal(await textOf(bytes, 'aa112233445566778899aabbccddeeff'), null)
    })

    it('lists its objects by their first digit', async () => {
      const listed = async (digit: string): Promise<string[]> => (await Array.fromAsync(bytes.list(digit))).flat()
      for (const last of ['1', '2', '3']) await bytes.put(`b0${'0'.repeat(29)}${last}`, pieces(last))
      await bytes.put(`b1${'0'.repeat(30)}`, pieces('x'))
      const all = [...['1', '2', '3'].map((last) => `b0${'0'.repeat(29)}${last}`), `b1${'0'.repeat(30)}`]
      assert.deepEqual((await listed('b')).toSorted(), all)
      assert.deepEqual(await listed('c'), [])
      assert.ok((await listed('0')).includes(keys[0]))
    })

    it('refuses a key that is not one of its own', async () => {
      await assert.rejects(bytes.put('../x', pieces('x')))
      await assert.rejects(bytes.open('../x', null))
    })
  })
}

describe('the storage of files in a folder', () => {
  it('is unavailable when the folder cannot be used', async () => {
    await writeFile(join(folder, 'plain'), 'x')
    const bytes = new DirectoryBytes(join(folder, 'plain'))
    await assert.rejects(bytes.put(keys[0], pieces('x')), { code: 'store_unavailable' })
    await assert.rejects(bytes.open(keys[0], null), { code: 'store_unavailable' })
    await assert.rejects(Array.fromAsync(bytes.list('0')), { code: 'store_unavailable' })
  })

  it('lists no objects before the folder exists', async () => {
    assert.deepEqual(await Array.fromAsync(new DirectoryBytes(join(folder, 'none')).list('0')), [])
  })
})

describe('the storage of files in an S3-compatible store', () => {
  let bytes: FileBytes
  before(() => {
    bytes = openS3()
  })
  after(() => bytes.close())

  it('repeats a request whose answer is lost, and one that the store cannot serve now', async () => {
    s3.requests.length = 0
    s3.fail('PUT', 'lost-answer', 'unavailable')
    await bytes.put(keys[0], pieces('hello'))
    s3.fail('DELETE', 'lost-answer')
    await bytes.delete(keys[1])
    s3.fail('GET', 'unavailable')
    assert.deepEqual(await textOf(bytes, keys[0]), [5, 'hello'])
    assert.deepEqual(s3.requests, [
      ...Array.from({ length: 3 }, () => `PUT /bucket/some/prefix/${keys[0]}`),
      ...Array.from({ length: 2 }, () => `DELETE /bucket/some/prefix/${keys[1]}`),
      ...Array.from({ length: 2 }, () => `GET /bucket/some/prefix/${keys[0]}`),
    ])
  })

  it('is unavailable when the store fails again and again', async () => {
    s3.fail('PUT', 'lost-answer', 'lost-answer', 'unavailable', 'lost-answer')
    await assert.rejects(bytes.put(keys[0], pieces('x')), { code: 'store_unavailable' })
    s3.fail('GET', 'unavailable', 'unavailable', 'unavailable', 'unavailable')
    await assert.rejects(bytes.open(keys[0], null), { code: 'store_unavailable' })
  })

  it('says that the store is full', async () => {
    s3.fail('PUT', 'full', 'full', 'full', 'full')
    await assert.rejects(bytes.put(keys[0], pieces('x')), { code: 'insufficient_storage' })
  })

  it('fails when the content breaks off', async () => {
    await bytes.put(keys[0], pieces('x'.repeat(100_000)))
    s3.fail('GET', 'cut')
    await assert.rejects(textOf(bytes, keys[0]), { code: 'store_unavailable' })
  })

  it('does not take a missing bucket or a wrong secret for a missing object', async () => {
    const other = openS3('other')
    await assert.rejects(other.open(keys[0], null), { code: 'store_unavailable' })
    await assert.rejects(other.delete(keys[0]), { code: 'store_unavailable' })
    await other.close()
    const wrong = new S3Bytes(s3Settings(s3Place(s3.endpoint), { ...testKey, secretAccessKey: 'other' }))
    await assert.rejects(wrong.open(keys[0], null), { code: 'store_unavailable' })
    await wrong.close()
  })

  it('leaves no temporary file', async () => {
    const left = (await readdir(tmpdir())).filter((name) => name.startsWith('troupe-upload-'))
    assert.deepEqual(left, [])
  })
})

/** The behavior of every place for scheduled exports. */
import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { ExportBucket } from '../../src/features/exports/export-bucket.ts'
import { ExportFolder } from '../../src/features/exports/export-folder.ts'
import { type ExportPlace, fileOfActor } from '../../src/features/exports/export-place.ts'
import { runOf } from '../../src/job/runs.ts'
import { s3Settings } from '../../src/object/s3-objects.ts'
import { type FakeS3, startS3, testKey } from '../support/s3.ts'

let folder = ''
let s3: FakeS3
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'troupe-places-'))
  s3 = await startS3()
})
after(async () => {
  await s3.close()
  await rm(folder, { recursive: true })
})

const openBucket = (): ExportPlace =>
  new ExportBucket(s3Settings(`s3://bucket/some?endpoint=${s3.endpoint}&region=${testKey.region}`, testKey), {
    pauseMs: 1,
  })

const places: readonly (readonly [name: string, open: () => ExportPlace])[] = [
  ['a folder', () => new ExportFolder(join(folder, 'exports'))],
  ['a bucket', openBucket],
]

async function* pieces(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text)
}

async function* broken(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('half')
  throw new Error('the actor cannot be read')
}

const { signal } = new AbortController()
const [first, second] = ['2030-01-01T03-00-00Z', '2030-01-02T03-00-00Z'] as const

for (const [name, open] of places) {
  describe(`scheduled exports in ${name}`, () => {
    let place: ExportPlace
    before(() => {
      place = open()
    })
    after(() => place.close())

    it('have no run at first', async () => {
      assert.deepEqual(await place.runs(), [])
      assert.equal(await place.has(first, 'complete.json'), false)
    })

    it('have the runs in the order of their times, and the files of each', async () => {
      for (const run of [second, first])
        for (const file of ['ab/ab1.jsonl', 'ab/ab2.jsonl', 'cd/cd1.jsonl', '~a/~ada.jsonl', 'complete.json'])
          await place.put(run, file, pieces('a', 'b'))
      assert.deepEqual(await place.runs(), [first, second])
      assert.deepEqual([await place.has(first, 'ab/ab2.jsonl'), await place.has(first, 'ab/ab3.jsonl')], [true, false])
    })

    it('have no file whose content breaks off', async () => {
      await assert.rejects(place.put(second, 'ab/ab9.jsonl', broken()), /cannot be read/)
      assert.equal(await place.has(second, 'ab/ab9.jsonl'), false)
    })

    it('store a file again in the place of the one before', async () => {
      await place.put(second, 'complete.json', pieces('other'))
      assert.equal(await place.has(second, 'complete.json'), true)
    })

    it('end with all their files, and other runs stay', async () => {
      await place.remove(first, signal)
      assert.deepEqual(await place.runs(), [second])
      for (const file of ['ab/ab1.jsonl', 'cd/cd1.jsonl', '~a/~ada.jsonl', 'complete.json'])
        assert.deepEqual([await place.has(first, file), await place.has(second, file)], [false, true])
    })

    it('are not complete any longer when their deletion breaks off', async () => {
      await assert.rejects(place.remove(second, AbortSignal.abort(new Error('the service stops'))), /stops/)
      assert.deepEqual([await place.has(second, 'complete.json'), await place.runs()], [false, [second]])
    })
  })
}

describe('a folder for scheduled exports', () => {
  it('keeps no part of a file whose content breaks off', async () => {
    const root = join(folder, 'parts')
    await assert.rejects(new ExportFolder(root).put(first, 'ab/ab1.jsonl', broken()))
    assert.deepEqual(await readdir(join(root, first, 'ab')), [])
  })
})

describe('a bucket for scheduled exports', () => {
  for (const [what, fault] of [
    ['is cut', 'cut'],
    ['cannot be had', 'unavailable'],
  ] as const)
    it(`has no run list when the listing ${what}, in place of an empty one`, async () => {
      const place = openBucket()
      s3.fail('GET', fault, fault, fault, fault)
      await assert.rejects(place.runs(), { code: 'store_unavailable' })
      s3.fail('GET')
      await place.close()
    })
})

describe('the names of scheduled exports', () => {
  it('have the time of the run in UTC', () => {
    assert.equal(runOf(new Date(Date.UTC(2030, 0, 2, 3, 4, 5, 678))), '2030-01-02T03-04-05Z')
  })

  for (const [actorId, file] of [
    ['1c9c0cd3', '1c/1c9c0cd3.jsonl.gz'],
    ['ada', 'ad/ada.jsonl.gz'],
    ['Ada', '~a/~ada.jsonl.gz'],
    ['x', 'x/x.jsonl.gz'],
  ] as const)
    it(`distinguish ${actorId} from actors whose ids differ in the size of a letter`, () => {
      assert.equal(fileOfActor(actorId), file)
    })
})

/** `npm run upgrade-fixture`: makes the databases of this release, which every later release must upgrade. */
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { release } from '../src/release.ts'
import { fixtures, makeFixture } from '../test/support/release-fixture.ts'

const folder = join(fixtures, release)
if (existsSync(folder)) throw new Error(`${folder} exists: the databases of a release never change`)
mkdirSync(folder, { recursive: true })
for (const dialect of ['sqlite', 'postgres'] as const)
  void test(`the ${dialect} database of ${release}`, () => makeFixture(dialect, folder))

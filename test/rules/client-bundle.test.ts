import assert from 'node:assert/strict'
import { dirname, join } from 'node:path'
import { describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { build } from 'rolldown'

const root = dirname(dirname(import.meta.dirname))

/** Bundles an entry of the package as an application for browsers does. Returns its code and the modules that it imports. */
async function bundled(entry: string): Promise<{ bytes: number; imports: string[] }> {
  const { output } = await build({
    input: join(root, 'src', entry),
    write: false,
    platform: 'browser',
    external: ['react'],
    output: { minify: true },
  })
  const chunks = output.filter((file) => file.type === 'chunk')
  const code = chunks.map((file) => file.code).join('\n')
  return { bytes: gzipSync(code).length, imports: chunks.flatMap((file) => file.imports) }
}

describe('the code of a client for browsers', () => {
  it('needs no package and no module of Node.js, and has at most 8 kB', async () => {
    const { bytes, imports } = await bundled('client.ts')
    assert.deepEqual(imports, [])
    assert.ok(bytes <= 8192, `${bytes} bytes`)
  })

  it('adds at most 2 kB for React', async () => {
    const { bytes, imports } = await bundled('react.ts')
    assert.deepEqual(imports, ['react'])
    assert.ok(bytes <= 2048, `${bytes} bytes`)
  })
})

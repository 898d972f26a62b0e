/** The versions that the client sends back, as proxies change them. */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import fc from 'fast-check'
import { strongVersion } from '../../src/client/connection.ts'

const read = (etag: string): string | null => strongVersion(new Response(null, { headers: { etag } }))

it('a version is the one of the service, whatever a proxy adds, and whatever its own last characters are', () => {
  const digest = fc.stringMatching(/^[\w-]{22}$/)
  // One version in 260,000 ends so by itself.
  const own = fc.oneof(
    digest,
    digest.map((text) => `${text.slice(0, 19)}-br`),
    fc.tuple(digest, digest).map((both) => both.join('.')),
  )
  const suffix = fc.constantFrom('', '-gzip', '-br', '-zstd', '-deflate', '--gzip', ';gz', ';br')
  fc.assert(
    fc.property(own, suffix, fc.constantFrom('', 'W/'), (version, added, weak) => {
      assert.equal(read(`${weak}"${version}${added}"`), `"${version}"`)
    }),
  )
})

it('a response without a version has none', () => {
  assert.equal(strongVersion(new Response(null)), null)
})

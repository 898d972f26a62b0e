import assert from 'node:assert/strict'
import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'

const src = join(import.meta.dirname, '..', '..', 'src')

/** Names that two files export on purpose, with their meanings. */
const twins: Readonly<Record<string, string>> = {
  Connection: 'the edge: the client’s connection, as applications pass it to fetch; SQLite: a connection to the file',
  ListMetadata: 'the handle’s form and the stored form of the same metadata',
  LogLevel: 'the levels of MCP, as applications name them; the levels of the log',
  Reader: 'each driver has its own reader',
  SignIn: 'the data of a sign-in in a handle; the class of the room',
  failed: 'a page, a reply, a span and a request to a service that failed',
  json: 'a JSON response of the edge and of MCP',
  listen: 'the server listens on a port; an AI client listens to changes',
  translate: 'each driver translates its own errors',
  unavailable: 'each driver names its own outage',
}

describe('an exported name', () => {
  it('has one meaning, or a reason for a second', async () => {
    const files = new Map<string, Set<string>>()
    for await (const path of glob('**/*.ts', { cwd: src })) {
      const text = await readFile(join(src, path), 'utf8')
      for (const [, name = ''] of text.matchAll(exported)) files.set(name, (files.get(name) ?? new Set()).add(path))
    }
    const repeated = [...files].filter(([, paths]) => paths.size > 1).map(([name]) => name)
    assert.deepEqual(repeated.sort(), Object.keys(twins).sort())
  })
})

const exported = /^export (?:abstract )?(?:async )?(?:function\*?|class|interface|type|const|let|enum) (\w+)/gm

/** The readable log of development. */
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createLog } from '../../src/observe/log.ts'
import { readableLog } from '../../src/observe/readable-log.ts'
import { seeded } from '../support/random.ts'

/** The lines of the events that `work` logs. Times and paths, which differ in each run, are replaced. */
function logged(work: (log: ReturnType<typeof createLog>) => void, isColored = false): string {
  let text = ''
  work(createLog('trace', readableLog({ write: (line) => (text += line), isColored })))
  return text
    .replace(/\d{2}:\d{2}:\d{2}\.\d{3}/g, '12:34:56.789')
    .replace(/^ {4}at .*(?:\n {4}.*at .*)*/gm, '    at …')
    .replace(/(?:^ {8}at .*\n)+/gm, '        at …\n')
}

describe('the readable log', () => {
  it('writes time, level, message and fields', () => {
    assert.equal(
      logged((log) => {
        log.info('Ready')
        log.warn({ route: 'getProperty', status: 503, peers: ['a'] }, 'Cannot answer')
      }),
      `12:34:56.789 INFO  Ready
12:34:56.789 WARN  Cannot answer route=getProperty status=503 peers=["a"]
`,
    )
  })

  it('writes an error with its stack and its causes', () => {
    const error = new Error('outer', { cause: new TypeError('inner') })
    assert.equal(
      logged((log) => log.error({ error }, 'Failed')),
      `12:34:56.789 ERROR Failed
    Error: outer
        at …
    caused by: TypeError: inner
        at …
`,
    )
  })

  it('writes a thrown value of another type', () => {
    assert.equal(
      logged((log) => log.error({ error: 'words' }, 'Failed')),
      '12:34:56.789 ERROR Failed\n    words\n',
    )
  })

  it('has colors only where the output has them', () => {
    assert.equal(
      logged((log) => log.error('Failed'), true),
      '\u001b[90m12:34:56.789\u001b[39m \u001b[31mERROR\u001b[39m Failed\n',
    )
    assert.equal(
      logged((log) => log.error('Failed')),
      '12:34:56.789 ERROR Failed\n',
    )
  })

  it('escapes what controls a terminal', () => {
    assert.equal(
      logged((log) => log.error({ peer: '\u001b[2J', error: new Error('a\u0007b') }, 'Failed\u001b[31m')),
      `12:34:56.789 ERROR Failed\\u001b[31m peer=\\u001b[2J
    Error: a\\u0007b
        at …
`,
    )
  })

  it('has no character that acts on a terminal or misleads a reader, whatever others sent (WEB-23)', () => {
    const hidden = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u
    const random = seeded(24)
    for (let run = 0; run < 300; run++) {
      const text = Array.from({ length: 8 }, () => {
        const kind = random.below(3)
        if (kind === 0)
          return random.pick(['\u202e', '\u200b', '\u2028', '\u00ad', '\u3164', '\u2800', '\u{e0041}', '\ud800'])
        return String.fromCodePoint(random.below(kind === 1 ? 0xa1 : 0x11_0000))
      }).join('')
      const event = { text, [text]: 1, nested: { [text]: [text] }, error: new Error(text, { cause: text }) }
      let json = ''
      createLog('info', { write: (line) => (json += line) }).info(event, text)
      assert.doesNotMatch(json.slice(0, -1), hidden)
      assert.equal((JSON.parse(json) as { text: string }).text.toWellFormed(), text.toWellFormed())
      assert.doesNotMatch(logged((log) => log.info(event, text)).replaceAll('\n', ''), hidden)
    }
  })

  it('passes on what is not a line of the log', () => {
    let text = ''
    readableLog({ write: (line) => (text += line), isColored: false }).write('plain words\n')
    assert.equal(text, 'plain words\n')
  })
})

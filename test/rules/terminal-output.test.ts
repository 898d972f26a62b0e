/** The output of commands: text of others must not act on the terminal that shows it. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { print, printable, printableJson, printText, progressTo } from '../../src/cli/output.ts'
import { App } from '../../src/troupe.ts'
import { Workplace } from '../support/program.ts'
import { seeded } from '../support/random.ts'

/** Characters that control a terminal, end a line, change the text around them, or look like nothing. */
const acting = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/u

const attacks = [
  '\u001b[2J\u001b[H',
  '\u001b]0;title\u0007',
  '\u001b]52;c;cm0gLXJm\u0007',
  '\u009b31m',
  '\u0090q\u009c',
  'a\rb',
  'a\nImported actor eve: property 1.',
  'a\bb',
  '\u202egnp.exe',
  '\u2066x\u2069',
  '\u200b',
  '\u2028x\u2029',
  '\u{e0041}',
  '\u3164\u2800\u034f\ufe0f',
  '\ue000\u{10ffff}',
  '\u0000',
  '\u007f',
  '\ud800',
] as const

/** Collects what is written, as a terminal would receive it. */
function written(work: (to: { write: (text: string) => boolean }) => void): string {
  let all = ''
  work({
    write: (text) => {
      all += text
      return true
    },
  })
  return all
}

describe('a command', () => {
  for (const attack of attacks)
    it(`prints ${JSON.stringify(attack)} without a character on which a terminal acts (ACL-20)`, () => {
      const line = written((to) => print(`Imported ${attack}.`, to))
      assert.match(line, /^Imported .*\.\n$/)
      assert.doesNotMatch(line.slice(0, -1), acting)
      const text = written((to) => printText(`One\n${attack}\n`, to))
      assert.doesNotMatch(text.replaceAll('\n', ''), acting)
      const json = printableJson(JSON.stringify({ value: attack, [attack]: [attack] }, null, 2))
      assert.doesNotMatch(json.replaceAll('\n', ''), acting)
      assert.deepEqual(JSON.parse(json), { value: attack, [attack]: [attack] })
    })

  it('prints generated text in one line, and generated JSON with the same value (ACL-20, WEB-23)', () => {
    const random = seeded(23)
    for (let run = 0; run < 5000; run++) {
      const text = Array.from({ length: random.below(12) }, () => {
        const kind = random.below(4)
        if (kind === 0) return random.pick(attacks)
        if (kind === 1) return String.fromCharCode(random.below(0xa1))
        return String.fromCodePoint(random.below(kind === 2 ? 0x2100 : 0x11_0000))
      }).join('')
      assert.doesNotMatch(written((to) => print(text, to)).slice(0, -1), acting)
      assert.doesNotMatch(printable(text), acting)
      const json = printableJson(JSON.stringify([text]))
      assert.doesNotMatch(json, acting)
      assert.deepEqual(JSON.parse(json), JSON.parse(JSON.stringify([text])))
    }
  })

  it('keeps every other character (ACL-20)', () => {
    const text = 'Ada Lovelace ✓ “quoted” äöü 山田 🎉 C:\\path 100 %'
    assert.equal(
      written((to) => print(text, to)),
      `${text}\n`,
    )
  })

  it('prints with the functions of output.ts only (ACL-20)', () => {
    const direct = globSync('src/cli/**/*.ts')
      .filter((file) => !file.endsWith('cli/output.ts'))
      .flatMap((file) => {
        const lines = readFileSync(file, 'utf8').split('\n')
        return lines
          .filter((line) => /\bstd(?:out|err)\.write\(|\bconsole\.|\bprocess\._raw/.test(line))
          .map((line) => `${file}: ${line.trim()}`)
      })
    assert.deepEqual(direct, [
      // The archive itself, with escapes on a terminal.
      "src/cli/actors/archive-actor.ts: if (!process.stdout.write(process.stdout.isTTY ? printableJson(text) : text)) await once(process.stdout, 'drain')",
    ])
  })
})

describe('the progress of a long command', () => {
  /** Reports numbers of things at times in milliseconds. Returns the printed lines. */
  const linesOf = (reports: readonly [at: number, done: number, total?: number][]): readonly string[] => {
    let at = 1_000_000
    const text = written((to) => {
      const progress = progressTo(to, 'files', () => at)
      for (const [since, done, total] of reports) {
        at = 1_000_000 + since
        progress(done, total)
      }
    })
    return text.split('\n').slice(0, -1)
  }

  it('is a line at most every five seconds, with the rate and the time left', () => {
    assert.deepEqual(
      linesOf([
        [4999, 3999, 20_000],
        [5000, 4000, 20_000],
        [9999, 8000, 20_000],
        [10_000, 10_000, 20_000],
        [20_000, 19_999, 20_000],
      ]),
      [
        '4000 of 20000 files, 800 per second, 20 s left',
        '10000 of 20000 files, 1000 per second, 10 s left',
        '19999 of 20000 files, 1000 per second, 1 s left',
      ],
    )
  })

  it('names minutes and hours that are left, and slow rates with a fraction', () => {
    assert.deepEqual(
      linesOf([
        [10_000, 25, 525],
        [20_000, 25, 525],
        [40_000, 30, 30_030],
      ]),
      [
        '25 of 525 files, 2.5 per second, 4 min left',
        '25 of 525 files, 1.3 per second, 7 min left',
        '30 of 30030 files, 0.8 per second, 11.1 h left',
      ],
    )
  })

  it('names no time while the total or the rate is unknown', () => {
    assert.deepEqual(
      linesOf([
        [5000, 500],
        [10_000, 0, 100],
      ]),
      ['500 files, 100 per second', '0 of 100 files, 0.0 per second'],
    )
  })

  it('is silent for a command that takes less than five seconds', () => {
    assert.deepEqual(
      linesOf([
        [0, 1],
        [4000, 1_000_000, 1_000_000],
      ]),
      [],
    )
  })
})

describe('troupe actors import', () => {
  const key = 'k1:mJ4bWw0r9cPq7fTzXoLk2sVdYhNe5uGiAt8RxQyBj3E'
  const archives: readonly (readonly [what: string, text: (attack: string) => string])[] = [
    ['no JSON', (attack) => attack],
    ['another kind', (attack) => JSON.stringify({ kind: attack })],
    ['another version', (attack) => JSON.stringify({ kind: 'archive', version: attack, actor: attack })],
    ['another format', (attack) => `{"kind":"archive","format":"${attack.replaceAll(/[\n\r\0]/g, '')}"}`],
  ]
  for (const [what, textOf] of archives)
    it(`prints no escape sequence of an archive with ${what} (ACL-20)`, async () => {
      const place = new Workplace()
      try {
        const database = `sqlite:${place.path('troupe.db')}`
        const env = { DATABASE_URL: database, TROUPE_SECRET_KEYS: key, TROUPE_FILES: place.path('files') }
        const type = 'urn:actingweb:example.com:output'
        const app = new App({ type, mode: 'development', database, secretKeys: key, env: {}, logLevel: 'silent' })
        await app.start()
        await app.close()
        for (const attack of ['\u001b]0;title\u0007', '\u009b2J\u202e']) {
          place.write('bad.jsonl', `${textOf(attack)}\n`)
          const { code, stdout, stderr } = await place.run(['actors', 'import', 'bad.jsonl'], { env })
          assert.equal(code, 1)
          assert.match(stderr, /archive/)
          assert.doesNotMatch(`${stdout}${stderr}`.replaceAll('\n', ''), acting)
        }
      } finally {
        await place.remove()
      }
    })
})

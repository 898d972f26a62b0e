/** The rules of docs/prose.md that `npm run prose` checks. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { deadLinks, linksOf } from '../../tools/links.ts'
import { findings, idiomCount } from '../../tools/prose-rules.ts'

const found = (path: string, text: string): string[] =>
  findings(path, text).map(({ line, rule, text }) => `${line} ${rule}: ${text}`)

describe('the prose check', () => {
  it('finds replaced phrases in comments, in titles, in documents and in messages', () => {
    assert.deepEqual(found('src/a.ts', "// The peer is told.\nthrow new Error('There is no such actor any more')\n"), [
      '1 phrase: told',
      '2 phrase: is no such',
      '2 phrase: any more',
    ])
    assert.deepEqual(found('test/a.test.ts', "it('goes on', () => {})\n"), ['1 phrase: goes on'])
    assert.deepEqual(found('docs/a.md', 'Nobody\nhas to be asked.\n'), ['1 phrase: Nobody', '2 phrase: has to be'])
    assert.deepEqual(found('src/a.sql', '-- Once more.\nselect 1;\n'), ['1 phrase: Once more'])
  })

  it('finds a phrase that two lines of a comment share', () => {
    assert.deepEqual(found('src/a.ts', '/**\n * The worker goes\n * on.\n */\n'), ['1 phrase: goes on'])
  })

  it('accepts words that only look like a replaced phrase', () => {
    for (const text of ['// The token is no longer valid.', '// There is no more than one row.', 'const goesOn = 1']) {
      assert.deepEqual(found('src/a.ts', text), [], text)
    }
    assert.deepEqual(found('docs/a.md', 'Write `go on` in code.\n\n```sh\nnobody@example.com # once more\n```\n'), [
      '4 phrase: nobody',
    ])
  })

  it('finds comments that begin without a subject', () => {
    for (const word of ['Of', 'As', 'What', 'Those', 'Whoever', 'That']) {
      const rules = findings('src/a.ts', `/** ${word} the peer sends. */\n`).map(({ rule }) => rule)
      assert.ok(rules.includes('opening'), word)
    }
    assert.deepEqual(found('src/a.ts', '/** The value that a peer sent. */\n// The peer,\n// as ever.\n'), [])
    assert.deepEqual(found('src/a.ts', 'const a = 1 // As sent.\n'), ['1 opening: As sent.'])
  })

  it('finds sentences of more than 30 words in documents, but not in lists of short ones', () => {
    const words = (count: number): string => Array.from({ length: count }, () => 'word').join(' ')
    assert.deepEqual(found('docs/a.md', `${words(30)}.\n`), [])
    assert.equal(findings('docs/a.md', `${words(31)}.\n`)[0]?.rule, 'sentence')
    assert.deepEqual(found('docs/a.md', `${words(20)}. ${words(20)}.\n\n- ${words(20)}\n- ${words(20)}\n`), [])
    assert.deepEqual(found('docs/a.md', `| ${words(20)} | ${words(20)} |\n`), [])
    assert.deepEqual(found('src/a.ts', `// ${words(40)}\n`), [])
  })

  it('finds titles whose ids are not last', () => {
    assert.deepEqual(found('test/a.test.ts', "it('LST-04 keeps all items', () => {})\n"), [
      '1 title: LST-04 keeps all items',
    ])
    assert.deepEqual(found('test/a.test.ts', "describe('R-LIST-01 a list', () => {})\n"), ['1 title: R-LIST-01 a list'])
    for (const title of ['keeps all items (LST-04)', 'keeps all items (LST-04, R-LIST-01)', 'accepts UTF-16']) {
      assert.deepEqual(found('test/a.test.ts', `it('${title}', () => {})\n`), [], title)
    }
  })

  it('counts the eight idioms', () => {
    assert.equal(idiomCount('is no list, are none, anew, Whoever, nobody, told, any more, have to be'), 8)
    assert.equal(idiomCount('The list does not exist. The caller must be the owner.'), 0)
  })
})

describe('the check of links', () => {
  it('finds files and headings that do not exist, and files outside of the archive', () => {
    const root = mkdtempSync(join(tmpdir(), 'troupe-links-'))
    try {
      mkdirSync(join(root, 'docs'))
      mkdirSync(join(root, 'src'))
      writeFileSync(join(root, 'package.json'), '{"files": ["docs"]}')
      writeFileSync(join(root, 'src/a.ts'), '')
      writeFileSync(join(root, 'docs/b.md'), '# One heading, here\n\n<a id="x"></a>\n')
      const links = ['b.md', 'b.md#one-heading-here', 'b.md#x', '#a', 'c.md', 'b.md#two', '../src/a.ts', '../README.md']
      writeFileSync(join(root, 'docs/a.md'), `# A\n\n${links.map((link) => `[x](${link})`).join('\n')}\n`)
      assert.deepEqual(deadLinks(root, ['docs/a.md']), [
        { path: 'docs/a.md', line: 7, target: 'c.md', reason: 'the file does not exist' },
        { path: 'docs/a.md', line: 8, target: 'b.md#two', reason: 'the heading does not exist' },
        { path: 'docs/a.md', line: 9, target: '../src/a.ts', reason: 'the archive does not contain the file' },
        { path: 'docs/a.md', line: 10, target: '../README.md', reason: 'the file does not exist' },
      ])
    } finally {
      rmSync(root, { recursive: true })
    }
  })

  it('reads links outside of code, and none to other sites', () => {
    const text = '[a](a.md) `[b](b.md)` [c](https://c.example)\n\n```md\n[d](d.md)\n```\n\n![e](e.png)\n'
    assert.deepEqual(linksOf(text), [
      { line: 1, target: 'a.md' },
      { line: 7, target: 'e.png' },
    ])
  })
})

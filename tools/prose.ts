/**
 * `npm run prose`: checks comments, test titles and documents against docs/prose.md, and the links of the documents.
 * With paths, it checks only the files below them; with `--count`, it prints the findings of each folder for each rule.
 */
import { readFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { commandOptions } from './command-options.ts'
import { deadLinks } from './links.ts'
import { type Finding, findings, idiomCount } from './prose-rules.ts'

const root = dirname(import.meta.dirname)

/** Files that quote the forbidden phrases. */
const quotesPhrases = new Set(['docs/prose.md', 'tools/prose-rules.ts', 'test/rules/prose.test.ts'])

const { values, operands } = commandOptions({
  command: 'npm run prose --',
  about: 'Checks comments, test titles and documents against docs/prose.md.',
  operands: '[path …]',
  options: { count: { kind: 'flag', about: 'print how many findings each folder has' } },
})

const paths = (
  await Array.fromAsync(
    glob(['{src,test,docs,bench,examples,tools,bin}/**/*.{ts,tsx,js,sql,md}', '*.md'], { cwd: root }),
  )
)
  .map((path) => path.replaceAll('\\', '/'))
  .filter((path) => !path.includes('node_modules/') && !quotesPhrases.has(path))
  .filter((path) => operands.length === 0 || operands.some((part) => path === part || path.startsWith(`${part}/`)))
  .toSorted()

const found: Finding[] = []
const folders = new Map<string, { lines: number; idioms: number; findings: number }>()
for (const path of paths) {
  const text = readFileSync(join(root, path), 'utf8')
  const here = findings(path, text)
  found.push(...here)
  const name = path.split('/').slice(0, -1).slice(0, 2).join('/') || '.'
  const folder = folders.get(name) ?? { lines: 0, idioms: 0, findings: 0 }
  folder.lines += text.split('\n').length - 1
  folder.idioms += idiomCount(text)
  folder.findings += here.length
  folders.set(name, folder)
}

const dead = deadLinks(
  root,
  paths.filter((path) => path.endsWith('.md')),
)

if (values.count) {
  for (const [name, folder] of folders) console.log(name, JSON.stringify(folder))
  const rules = Map.groupBy(found, ({ rule }) => rule)
  for (const [rule, list] of rules) console.log(`${rule}: ${list.length}`)
  console.log(`dead links: ${dead.length}`)
} else {
  for (const { path, line, rule, text, advice } of found) console.log(`${path}:${line} ${rule}: “${text}” ${advice}`)
  for (const { path, line, target, reason } of dead) console.log(`${path}:${line} dead link: “${target}” ${reason}`)
  const count = found.length + dead.length
  if (count > 0) {
    console.error(`Found ${count} violations of docs/prose.md: rewrite these places`)
    process.exitCode = 1
  }
}

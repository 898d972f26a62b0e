/** Generates docs/compatibility.md: the clients, browsers, providers and proxies that the tests use. */
import { type CompatRow, groups } from '../test/compat/row.ts'
import { rows } from '../test/compat/rows.ts'

/** @param note the remark of a generated page */
export function compatibilityPage(note: string): string {
  const needed = rows.filter(({ program }) => program !== undefined)
  return `${note}
# Compatibility

Each row is a test: ${rows.length - needed.length} run with \`npm test\`, ${needed.length} need a program of the machine and run with \`npm run compat\`, which says what it did not find. A product that npm does not install is tested by the requests that its documents and public reports show: the source is linked. [SECURITY.md](../SECURITY.md) says why each leniency is safe.

To add a row, write one line in \`test/compat/\`, then run \`npm run docs\`.

${groups.map(section).join('\n')}`
}

function section(group: CompatRow['group']): string {
  const lines = rows
    .filter((row) => row.group === group)
    .map(({ client, version, flow, expected, source, program }) => {
      const link = URL.canParse(source) ? `[source](${source})` : `\`${source}\``
      return `| ${client} | ${version} | ${flow} | ${expected} | ${link} | ${program === undefined ? '`npm test`' : '`npm run compat`'} |`
    })
  return `## ${group}

| Product | Version | What it does | What happens | Source or package | Tested by |
|---|---|---|---|---|---|
${lines.join('\n')}
`
}

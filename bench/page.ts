/** The sections of `docs/benchmarks.md`. Each is measured and written alone. */

interface Section {
  readonly heading: string
  readonly introduction: string
}

const sections = {
  ratios: {
    heading: '# Benchmarks',
    introduction: `\`npm run bench -- --write\` writes this section. Each line and its comparison are measured in the same run. Only the ratios
are comparable between runs and machines. The bare server is \`bench/server-bare.ts\`: plain \`node:http\`, with the same
passphrase check and a direct call of the same store function. CPU is the server's processor time for one request. List
operations run one after the other, and each waits for its commit. The other lines use 32 connections.`,
  },
  pinned: {
    heading: '## Requests on one processor',
    introduction: `\`npm run bench -- --only requests --pinned --write\` writes this section. Each server has one processor, and the load has
another (\`taskset\`). The processes of PostgreSQL may use both. The load has 16 connections. The ratio is the median of the
ratios of the rates in neighboring slices. The lists of both servers have the same items, and AI clients find 5 tools.`,
  },
  'large-list': {
    heading: '## One list of 5,256,000 items',
    introduction: `\`npm run bench -- --only large-list --write\` writes this section. The bounds are 50 ms for a pause of the event loop and
64 MiB of memory beyond idle ([decision 030](decisions/030-long-lists-are-read-in-pages.md)). The first figure is the longest
pause that other work would notice. It includes the time in which other processes had the processor. The second figure is the
processor time of the thread itself in one pause, and the bound applies to it. Only the first figure includes disk waits.`,
  },
} satisfies Record<string, Section>

/** Returns the page with new content in one section, which ends at the next heading. The page gets an absent section. */
export function replaceSection(page: string, name: keyof typeof sections, content: string): string {
  const { heading, introduction } = sections[name]
  const section = [heading, introduction, content.trim()].join('\n\n')
  const kept = page.split(/^(?=##? )/m).map((text) => text.trim())
  const at = kept.findIndex((text) => text.startsWith(`${heading}\n`))
  if (at < 0) kept.push(section)
  else kept[at] = section
  return `${kept.join('\n\n')}\n`
}

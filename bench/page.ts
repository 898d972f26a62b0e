/** The sections of documents that measurements write. Each is measured and written alone. */

interface Section {
  /** The document, in `docs`. */
  readonly page: string
  readonly heading: string
  readonly introduction: string
}

export const sections = {
  start: {
    page: 'benchmarks.md',
    heading: '## Start',
    introduction: `\`npm run bench -- --only start --write\` writes this section. The packed archive starts with an empty data folder, in turn with
a bare server. The time ends with the first response. The figures are medians of seven starts.`,
  },
  requests: {
    page: 'benchmarks.md',
    heading: '## Requests',
    introduction: '`npm run bench -- --only requests --write` writes this section.',
  },
  clients: {
    page: 'benchmarks.md',
    heading: '## AI clients',
    introduction: '`npm run bench -- --only clients --write` writes this section.',
  },
  pages: {
    page: 'benchmarks.md',
    heading: '## Pages for owners',
    introduction: `\`npm run bench -- --only pages --write\` writes this section. Each page is compared with all requests that return the
data on it as JSON. The ratio is of processor time. The first paint is the median of 15 loads in Chromium. Beside it is
the first paint of a screen of text without style. Without a graphics processor, that alone takes most of the time.`,
  },
  lists: {
    page: 'benchmarks.md',
    heading: '## Lists of 100,000 items',
    introduction: `\`npm run bench -- --only lists --write\` writes this section. The requests run one after the other, and each change waits for
its commit.`,
  },
  files: {
    page: 'benchmarks.md',
    heading: '## Files',
    introduction: `\`npm run bench -- --only files --write\` writes this section. Four connections send or read [files](files.md) of 1 MiB, in turn
with a bare server that stores each body on the disk and computes no hash.`,
  },
  declared: {
    page: 'benchmarks.md',
    heading: '## Declared data',
    introduction: `\`npm run bench -- --only declared --write\` writes this section. All clients update the same value in transactions, in turn with
clients that have a value each. On SQLite, transactions of one actor share commits
([decision 063](decisions/063-transactions-run-ahead-of-commits.md)).`,
  },
  history: {
    page: 'benchmarks.md',
    heading: '## History',
    introduction: `\`npm run bench -- --only history --write\` writes this section. The same service without the history answers in turn
([decision 081](decisions/081-the-history-is-stored-with-the-change.md)).`,
  },
  scale: {
    page: 'benchmarks.md',
    heading: '## A million actors',
    introduction: '`npm run bench -- --only scale --write` writes this section.',
  },
  delivery: {
    page: 'benchmarks.md',
    heading: '## Changes with subscribers',
    introduction: `\`npm run bench -- --only delivery --write\` writes this section. A change with more than 64 subscriptions is answered before
their diffs are written ([decision 050](decisions/050-diffs-for-many-subscribers-behind-the-response.md)).`,
  },
  jobs: {
    page: 'benchmarks.md',
    heading: '## Background work',
    introduction: `\`npm run bench -- --only jobs --write\` writes this section. The alarms are due at one time, at two processes. After a third
of them, one process is killed. The aim is that all have run within ten seconds of their time. The messages of the webhooks
wait before the process starts ([decision 069](decisions/069-background-work-in-one-table.md)).`,
  },
  pinned: {
    page: 'benchmarks.md',
    heading: '## Requests on one processor',
    introduction: `\`npm run bench -- --only requests --pinned --write\` writes this section. Each server has one processor, and the load has
another (\`taskset\`). The processes of PostgreSQL may use both. The load has 16 connections. The ratio is the median of the
ratios of the rates in neighboring slices. The lists of both servers have the same items, and AI clients find 5 tools.`,
  },
  'large-list': {
    page: 'benchmarks.md',
    heading: '## One list of 5,256,000 items',
    introduction: `\`npm run bench -- --only large-list --write\` writes this section. The bounds are 50 ms for a pause of the event loop and
64 MiB of memory beyond idle ([decision 030](decisions/030-long-lists-are-read-in-pages.md)). The first figure is the longest
pause that other work would notice. It includes the time in which other processes had the processor. The second figure is the
processor time of the thread itself in one pause, and the bound applies to it. Only the first figure includes disk waits.`,
  },
  capacity: {
    page: 'scaling.md',
    heading: '## Capacity',
    introduction: `\`npm run bench -- --only capacity --write\` measures the costs of an actor, a change, a subscriber and a process on both stores,
and writes this section. The costs are measured through the HTTP interface of one process, on one machine. Bytes include
indexes and free space. Costs differ between machines, and other work on a machine raises the processor times, so measure on
yours.

### Model

- **Data** of an actor = the sum over its properties, items, relationships and the other rows, each with its bytes.
- **Disk** = actors × data of an actor × 1.5, for free space, the log and temporary files.
- **Memory for pages** = actors of one day × pages × page size, but at most the data. Ids are random, so each actor has pages
  of its own.
- **Requests a second** = actors of one day × requests of each ÷ 86,400 × 5, because the busiest second has five times the
  average.
- **Processors** = requests a second × processor time of each ÷ 0.6, because a processor should have at most 60 % load. A change
  with subscribers costs one change and the share of each subscriber. A process of the service uses about one processor.
- **Connections** = processes × 12: \`TROUPE_WORKERS\` for changes, and two for reads.
- **Database servers** = disk ÷ 4 TB, memory ÷ 128 GB or processors ÷ 16, whichever is largest. Several servers need
  [sharding](#sharding), which costs further processor time that this model does not contain.

The assumed actor has 20 properties, a list of 100 items, 5 relationships, 2 subscriptions of peers, 5 waiting diffs, a
session and 100 entries of the audit log. One actor in ten is used on a day, with 50 requests. A fifth of them are changes,
each with 2 subscribers. That makes 60 delivered diffs in 30 days. Replace these numbers by yours in
\`bench/capacity-model.ts\`.

The check fills another database with different numbers of each row, and compares the bytes with the model.`,
  },
} satisfies Record<string, Section>

export type SectionName = keyof typeof sections

/** Returns the page with new content in one section, which ends at the next heading. The page gets an absent section. */
export function replaceSection(page: string, { heading, introduction }: Section, content: string): string {
  const section = [heading, introduction, content.trim()].join('\n\n')
  const kept = page.split(/^(?=##? )/m).map((text) => text.trim())
  const at = kept.findIndex((text) => text.startsWith(`${heading}\n`))
  if (at < 0) kept.push(section)
  else kept[at] = section
  return `${kept.join('\n\n')}\n`
}

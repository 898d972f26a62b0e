/** One actor of the Python library as an archive (docs/archives.md), so that it comes in like an archive of the service. */
import { checkName } from '../actor/property-name.ts'
import { parseActorId } from '../actor/actor.ts'
import { archiveVersion } from '../archive/export-actor.ts'
import { quoted, ServiceError } from '../errors.ts'
import { type JsonText, known, object, stringText } from '../json/json.ts'
import { release } from '../release.ts'
import { randomId } from '../secret/random.ts'
import { accountOf, isAboutSignIn, trusteeRootOf } from './source-account.ts'
import { isRights, rightsOf, type SourceRights, type SourceTrust, trustOf } from './source-trusts.ts'
import { itemsOfList, listOfHead, nameOfHead, type SourceList } from './source-lists.ts'
import type { SourceDatabase, SourceActor, SourceAttribute, SourceRow } from './source.ts'
import { textInRow, timeInRow, valueOfText } from './stored-value.ts'

export interface ArchivePlan {
  /** The name that the application gives companions of a type. */
  readonly companions: ReadonlyMap<string, string>
  /** Whether another actor of the source signs in with this creator. */
  readonly otherSignIn: (actor: SourceActor) => string | null
  /** Unix milliseconds. */
  readonly now: number
}

/** A diff that the peer has not cleared. */
export interface SourceDiff {
  readonly peerId: string
  readonly subscriptionId: string
  readonly sequence: number
  readonly data: JsonText
  /** Unix milliseconds. */
  readonly createdAt: number
}

/** The parts of an actor that its archive leaves to the import, and those that stay behind. */
export interface Leftover {
  /** Relationships of programs, which have no place in an archive. */
  readonly programs: SourceTrust[]
  /** Rights of these relationships. */
  readonly programRights: SourceRights[]
  readonly diffs: SourceDiff[]
  /** Subscriptions at peers whose next callback does not follow on the last applied one. */
  readonly behind: { readonly peerId: string; readonly subscriptionId: string }[]
  /** One sentence for each thing that stays behind. */
  readonly problems: string[]
  /** Relationships by their trust type. */
  readonly trustTypes: string[]
}

export function nothingLeft(): Leftover {
  return { programs: [], programRights: [], diffs: [], behind: [], problems: [], trustTypes: [] }
}

/** Buckets of the library itself. What matters of them comes in as something else. */
const ownBuckets: ReadonlySet<string> = new Set([
  'mcp_clients',
  'mcp_tokens',
  'mcp_refresh_tokens',
  'mcp_auth_codes',
  'mcp_google_tokens',
])

/** Yields the lines of the archive, several at a time. Fills `left` meanwhile. */
export async function* archiveOf(
  source: SourceDatabase,
  actor: SourceActor,
  attributes: readonly SourceAttribute[],
  plan: ArchivePlan,
  left: Leftover,
): AsyncGenerator<Uint8Array, void> {
  const encoder = new TextEncoder()
  let records = 0
  for await (const lines of new ActorRecords(source, actor, attributes, plan, left).all()) {
    if (lines.length === 0) continue
    records += lines.length
    yield encoder.encode(`${lines.join('\n')}\n`)
  }
  yield encoder.encode(`${line('end', { records: known(String(records)) })}\n`)
}

class ActorRecords {
  readonly #source: SourceDatabase
  readonly #actor: SourceActor
  readonly #attributes: readonly SourceAttribute[]
  readonly #plan: ArchivePlan
  readonly #left: Leftover
  readonly #peers = new Set<string>()

  constructor(
    source: SourceDatabase,
    actor: SourceActor,
    attributes: readonly SourceAttribute[],
    plan: ArchivePlan,
    left: Leftover,
  ) {
    this.#source = source
    this.#actor = actor
    this.#attributes = attributes
    this.#plan = plan
    this.#left = left
  }

  async *all(): AsyncGenerator<readonly JsonText[], void> {
    yield [this.#header(), ...this.#account()]
    const heads = await this.#source.listHeads(this.#actor.id)
    const lists = new Set(heads.map(nameOfHead))
    yield* this.#properties(lists)
    for (const head of heads) {
      const list = listOfHead(head)
      if (list === null) this.#skip(`the metadata of the list ${quoted(nameOfHead(head))} cannot be read`)
      else yield* this.#list(list)
    }
    yield this.#ownAttributes()
    yield await this.#relationships()
    yield this.#rights()
    yield await this.#companions()
    yield await this.#suspensions()
    yield await this.#subscriptions()
  }

  #skip(what: string): void {
    this.#left.problems.push(what)
  }

  #header(): JsonText {
    const { id, creator, createdAt } = this.#actor
    return line('archive', {
      version: known(String(archiveVersion)),
      actor: stringText(id),
      creator: stringText(creator),
      trustee_root: optional(trusteeRootOf(this.#attributes)),
      created_at: time(createdAt === 0 ? this.#plan.now : createdAt),
      release: stringText(release),
      secrets: known('true'),
    })
  }

  #account(): JsonText[] {
    const found = accountOf(this.#actor.creator, this.#attributes)
    if (found === null) return []
    const other = this.#plan.otherSignIn(this.#actor)
    if (other !== null) {
      this.#skip(`its creator signs in to the actor ${quoted(other)}, so this one keeps its passphrase alone`)
      return []
    }
    const { identifier, verified, subject, fields } = found
    return [
      line('account', {
        identifier: stringText(identifier),
        verified: known(String(verified)),
        subject: optional(subject),
        fields: known(JSON.stringify(fields)),
      }),
    ]
  }

  async *#properties(lists: ReadonlySet<string>): AsyncGenerator<readonly JsonText[], void> {
    for await (const rows of this.#source.properties(this.#actor.id)) {
      yield rows.flatMap(({ name, value }) => {
        const complaint = lists.has(name) ? 'a list has the same name' : complaintAbout(name)
        if (complaint !== null) {
          this.#skip(`the property ${quoted(name)}: ${complaint}`)
          return []
        }
        return [line('property', { name: stringText(name), value: valueOfText(value) })]
      })
    }
  }

  async *#list(list: SourceList): AsyncGenerator<readonly JsonText[], void> {
    const { id } = this.#actor
    const complaint = complaintAbout(list.name)
    if (complaint !== null) {
      this.#skip(`the list ${quoted(list.name)}: ${complaint}`)
      return
    }
    const createdAt = list.createdAt ?? this.#plan.now
    const length = list.length ?? 0
    yield [
      line('list', {
        name: stringText(list.name),
        id: stringText(randomId()),
        description: stringText(list.description),
        explanation: stringText(list.explanation),
        created_at: time(createdAt),
        updated_at: time(list.updatedAt ?? createdAt),
        next_item: known('1'),
        revision: known('1'),
        length: known(String(length)),
      }),
    ]
    let items = 0
    for await (const values of itemsOfList(this.#source, id, list)) {
      yield values.map((value) => line('item', { number: known(String((items += 1))), value }))
    }
    if (list.length !== null && items < list.length)
      this.#skip(`${list.length - items} of ${list.length} items of the list ${quoted(list.name)} are missing`)
  }

  #ownAttributes(): JsonText[] {
    return this.#attributes.flatMap((attribute) => {
      const { bucket, name, data, timestamp, endsAt } = attribute
      const isOwn = bucket.startsWith('_') && bucket !== '_internal'
      if (isOwn || ownBuckets.has(bucket) || isAboutSignIn(attribute)) return []
      if (endsAt !== null) {
        if (endsAt > this.#plan.now) this.#skip(`the attribute ${quoted(`${bucket}/${name}`)}: it has an end`)
        return []
      }
      return [
        line('attribute', {
          bucket: stringText(bucket),
          name: stringText(name),
          data: valueOfText(data),
          timestamp: time(timestamp ?? this.#plan.now),
        }),
      ]
    })
  }

  async #relationships(): Promise<JsonText[]> {
    const lines: JsonText[] = []
    for (const row of await this.#source.rowsOf('trusts', this.#actor.id)) {
      const trust = trustOf(row, this.#actor.createdAt)
      if (trust === null) {
        this.#skip(`the relationship with ${quoted(textInRow(row, 'peerid') ?? '')}: it has no secret`)
        continue
      }
      this.#left.trustTypes.push(trust.relationship)
      if (trust.establishedVia !== 'trust') {
        this.#left.programs.push(trust)
        continue
      }
      if (trust.baseuri === '') {
        this.#skip(`the relationship with ${quoted(trust.peerId)}: it has no address`)
        continue
      }
      this.#peers.add(trust.peerId)
      lines.push(relationshipLine(trust))
    }
    return lines
  }

  #rights(): JsonText[] {
    const lines: JsonText[] = []
    for (const attribute of this.#attributes.filter(isRights)) {
      const rights = rightsOf(attribute, this.#actor.createdAt)
      if (rights === null) {
        this.#skip(`the rights ${quoted(attribute.name)}: they cannot be read`)
      } else if (this.#left.programs.some(({ peerId }) => peerId === rights.peerId)) {
        this.#left.programRights.push(rights)
      } else if (this.#peers.has(rights.peerId)) {
        lines.push(
          line('rights', {
            peer_id: stringText(rights.peerId),
            rules: known(JSON.stringify(rights.rules)),
            created_by: stringText(rights.createdBy),
            notes: stringText(rights.notes),
            updated_at: time(rights.updatedAt),
          }),
        )
      }
    }
    return lines
  }

  async #companions(): Promise<JsonText[]> {
    const rows = await this.#source.rowsOf('peertrustees', this.#actor.id)
    return rows.flatMap((row) => {
      const type = textInRow(row, 'type') ?? ''
      const name = this.#plan.companions.get(type)
      if (name === undefined) {
        this.#skip(`the companion of the type ${quoted(type)}: --companions names none of this type`)
        return []
      }
      return [
        line('companion', {
          name: stringText(name),
          peer_id: stringText(textInRow(row, 'peerid') ?? ''),
          baseuri: stringText((textInRow(row, 'baseuri') ?? '').replace(/(?<!\/)\/+$/, '')),
          type: stringText(type),
          passphrase: stringText(textInRow(row, 'passphrase') ?? ''),
        }),
      ]
    })
  }

  async #suspensions(): Promise<JsonText[]> {
    const rows = await this.#source.rowsOf('subscription_suspensions', this.#actor.id)
    return rows.map((row) =>
      line('suspension', {
        target: stringText(textInRow(row, 'target') ?? ''),
        subtarget: stringText(textInRow(row, 'subtarget') ?? ''),
      }),
    )
  }

  async #subscriptions(): Promise<JsonText[]> {
    const rows = await this.#source.rowsOf('subscriptions', this.#actor.id)
    const known_ = rows.filter((row) => this.#peers.has(textInRow(row, 'peerid') ?? ''))
    const held = known_.filter((row) => row['callback'] !== true)
    await this.#diffs(held)
    this.#behind(known_.filter((row) => row['callback'] === true))
    // Records of one kind follow each other.
    return [
      ...held.map((row) => this.#subscription('subscription_of_peer', row, { state: stringText('live') })),
      ...known_
        .filter((row) => row['callback'] === true)
        .map((row) => this.#subscription('subscription_to_peer', row, {})),
    ]
  }

  #subscription(kind: string, row: SourceRow, more: Readonly<Record<string, JsonText>>): JsonText {
    const text = (name: string): JsonText => stringText(textInRow(row, name) ?? '')
    return line(kind, {
      peer_id: text('peerid'),
      subscription_id: text('subid'),
      target: text('target'),
      subtarget: text('subtarget'),
      resource: text('resource'),
      granularity: text('granularity'),
      sequence: known(String(sequenceIn(row))),
      created_at: time(this.#plan.now),
      ...more,
    })
  }

  async #diffs(held: readonly SourceRow[]): Promise<void> {
    if (held.length === 0) return
    const peers = new Map(held.map((row) => [textInRow(row, 'subid') ?? '', textInRow(row, 'peerid') ?? '']))
    const rows = await this.#source.rowsOf('subscription_diffs', this.#actor.id)
    const diffs = rows.flatMap((row) => {
      const subscriptionId = textInRow(row, 'subid') ?? ''
      const peerId = peers.get(subscriptionId)
      const data = valueOfText(textInRow(row, 'diff') ?? '""')
      const createdAt = timeInRow(row, 'timestamp') ?? this.#plan.now
      return peerId === undefined ? [] : [{ peerId, subscriptionId, sequence: sequenceIn(row), data, createdAt }]
    })
    this.#left.diffs.push(...diffs.toSorted((a, b) => a.sequence - b.sequence))
  }

  /** A resync that the library had not done yet, and callbacks that waited for others, lead to a resync. */
  #behind(own: readonly SourceRow[]): void {
    const states = new Map(
      this.#attributes.filter(({ bucket }) => bucket === '_callback_state').map(({ name, data }) => [name, data]),
    )
    for (const row of own) {
      const [peerId, subscriptionId] = [textInRow(row, 'peerid') ?? '', textInRow(row, 'subid') ?? '']
      const state = states.get(`state:${peerId}:${subscriptionId}`) ?? ''
      const isWaiting = states.has(`pending:${peerId}:${subscriptionId}`)
      if (isWaiting || /"resync_pending": ?true/.test(state)) this.#left.behind.push({ peerId, subscriptionId })
    }
  }
}

function relationshipLine(trust: SourceTrust): JsonText {
  return line('relationship', {
    peer_id: stringText(trust.peerId),
    baseuri: stringText(trust.baseuri),
    type: stringText(trust.type),
    relationship: stringText(trust.relationship),
    secret: stringText(trust.secret),
    verification_token: stringText(trust.verificationToken),
    description: stringText(trust.description),
    nickname: stringText(''),
    approved: known(String(trust.approved)),
    approved_until: known('null'),
    peer_approved: known(String(trust.peerApproved)),
    verified: known(String(trust.verified)),
    established_via: stringText(trust.establishedVia),
    facts: known(JSON.stringify(trust.facts)),
    created_at: time(trust.createdAt),
    last_accessed: trust.lastAccessed === null ? known('null') : time(trust.lastAccessed),
    last_connected_via: stringText(trust.lastConnectedVia),
    request: known('null'),
  })
}

function sequenceIn(row: SourceRow): number {
  const sequence = Number(row['seqnr'] ?? 0)
  return Number.isSafeInteger(sequence) && sequence > 0 ? sequence : 0
}

/** Why the service cannot store a name. Null: it can. */
function complaintAbout(name: string): string | null {
  try {
    checkName(name)
    return null
  } catch (error) {
    if (error instanceof ServiceError) return 'the service cannot store a property with this name'
    throw error
  }
}

/** Why an actor cannot come in. Null: it can. */
export function refusalOf(actor: SourceActor): string | null {
  return parseActorId(actor.id) === null ? 'the service cannot serve an actor with this id' : null
}

function line(kind: string, members: Readonly<Record<string, JsonText>>): JsonText {
  return object([['kind', stringText(kind)], ...Object.entries(members)])
}

function time(ms: number): JsonText {
  return stringText(new Date(ms).toISOString())
}

function optional(text: string | null): JsonText {
  return text === null ? known('null') : stringText(text)
}

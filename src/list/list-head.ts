/** The head of a list: its row in `property`. Items and the lower levels of their order are in other tables. */
import { type JsonText, known } from '../json/json.ts'
import { firstVersion } from './list-address.ts'
import { damagedList } from './list-damage.ts'
import { readBranches, writeBranches, type Branch } from './order-branch.ts'
import { nodeSizes } from './order-tree.ts'

export interface ListHead {
  /** Distinguishes this list from an earlier list of the same name. */
  readonly id: string
  readonly description: string
  readonly explanation: string
  readonly createdAt: string
  readonly updatedAt: string
  readonly nextItem: number
  readonly nextNode: number
  /** Rows with lower numbers belong to items that were removed together and are deleted in the background. */
  readonly firstItem: number
  readonly firstNode: number
  /** `total_bytes` of the items. Null for a list that was written before the service counted bytes. */
  readonly bytes: number | null
  readonly root: readonly Branch[]
  /** The number of changes of the list and its items. It distinguishes two changes within one millisecond. */
  readonly revision: number
  /** The fields whose index contains every item that was changed since it was declared. */
  readonly indexes: readonly string[]
  /** No item has a newer declared version. */
  readonly newestVersion: number
}

/** The metadata of a list, as callers see it. */
export interface ListMetadata {
  readonly description: string
  readonly explanation: string
  readonly created_at: string
  readonly updated_at: string
  readonly version: '1.0'
  readonly item_type: 'json'
  readonly chunk_size: number
  readonly length: number
}

/** @throws ServiceError `list_corrupted` */
export function readHeadText(list: string, text: string): ListHead {
  const head = parseObject(list, text)
  if (head['version'] !== '1.0') throw damagedList(list, 'the version of the head is not 1.0')
  return {
    id: textOf(list, head, 'id'),
    description: textOf(list, head, 'description'),
    explanation: textOf(list, head, 'explanation'),
    createdAt: timeOf(list, head, 'created_at'),
    updatedAt: timeOf(list, head, 'updated_at'),
    nextItem: counterOf(list, head, 'next_item'),
    nextNode: counterOf(list, head, 'next_node'),
    firstItem: head['first_item'] === undefined ? 1 : counterOf(list, head, 'first_item'),
    firstNode: head['first_node'] === undefined ? 1 : counterOf(list, head, 'first_node'),
    bytes: bytesOf(list, head['bytes']),
    root: rootOf(list, head['root']),
    revision: head['revision'] === undefined ? 0 : counterOf(list, head, 'revision'),
    indexes: head['indexes'] === undefined ? [] : indexesOf(list, head['indexes']),
    newestVersion: head['newest_version'] === undefined ? firstVersion : counterOf(list, head, 'newest_version'),
  }
}

export function writeHeadText(head: ListHead): string {
  return JSON.stringify({
    id: head.id,
    description: head.description,
    explanation: head.explanation,
    created_at: head.createdAt,
    updated_at: head.updatedAt,
    version: '1.0',
    next_item: head.nextItem,
    next_node: head.nextNode,
    ...(head.firstItem === 1 ? {} : { first_item: head.firstItem }),
    ...(head.firstNode === 1 ? {} : { first_node: head.firstNode }),
    bytes: head.bytes ?? undefined,
    root: writeBranches(head.root),
    revision: head.revision,
    ...(head.indexes.length === 0 ? {} : { indexes: head.indexes }),
    ...(head.newestVersion === firstVersion ? {} : { newest_version: head.newestVersion }),
  })
}

export function lengthOf(head: ListHead): number {
  let length = 0
  for (const { count } of head.root) length += count
  return length
}

/**
 * Reads the metadata of a list from its head alone.
 *
 * @throws ServiceError `list_corrupted`
 */
export function listMetadata(list: string, headText: string): ListMetadata {
  return metadataOf(readHeadText(list, headText))
}

/** The number that the next new item gets. @throws ServiceError `list_corrupted` */
export function nextItemOf(list: string, headText: string): number {
  return readHeadText(list, headText).nextItem
}

/** The metadata and size of a list, read from its head alone. */
export interface ListFacts {
  readonly metadata: ListMetadata
  readonly length: number
  /** `total_bytes` of the items. Null when the service never counted them. */
  readonly bytes: number | null
}

/** @throws ServiceError `list_corrupted` */
export function listFacts(list: string, headText: string): ListFacts {
  const head = readHeadText(list, headText)
  return { metadata: metadataOf(head), length: lengthOf(head), bytes: head.bytes }
}

/** The short form of a list on the wire, without its items. */
export function factsOf({ length, description, explanation }: ListMetadata): JsonText {
  return known(JSON.stringify({ _list: true, count: length, description, explanation }))
}

export function metadataOf(head: ListHead): ListMetadata {
  return {
    description: head.description,
    explanation: head.explanation,
    created_at: head.createdAt,
    updated_at: head.updatedAt,
    version: '1.0',
    item_type: 'json',
    chunk_size: nodeSizes.leafItems,
    length: lengthOf(head),
  }
}

/** The metadata of a list that is created now. */
export function newListMetadata(nowMs: number): ListMetadata {
  const now = new Date(nowMs).toISOString()
  return {
    description: '',
    explanation: '',
    created_at: now,
    updated_at: now,
    version: '1.0',
    item_type: 'json',
    chunk_size: nodeSizes.leafItems,
    length: 0,
  }
}

/** The head of a declared list that no one has written to yet. */
export function emptyHeadText(texts: { readonly description: string; readonly explanation: string }): string {
  const never = new Date(0).toISOString()
  return writeHeadText({
    id: 'declared',
    ...texts,
    createdAt: never,
    updatedAt: never,
    nextItem: 1,
    nextNode: 1,
    firstItem: 1,
    firstNode: 1,
    bytes: 0,
    root: [],
    revision: 1,
    indexes: [],
    newestVersion: firstVersion,
  })
}

type Members = { readonly [name: string]: unknown }

function parseObject(list: string, text: string): Members {
  let head: unknown
  try {
    head = JSON.parse(text)
  } catch {
    // The parser's message is left out, because it quotes stored data.
    throw damagedList(list, 'the head cannot be read')
  }
  if (typeof head !== 'object' || head === null || Array.isArray(head))
    throw damagedList(list, 'the head is not an object')
  return { ...head }
}

function textOf(list: string, head: Members, name: string): string {
  const value = head[name]
  if (typeof value !== 'string') throw damagedList(list, `the head has no ${name}`)
  return value
}

function timeOf(list: string, head: Members, name: string): string {
  const value = textOf(list, head, name)
  if (Number.isNaN(Date.parse(value))) throw damagedList(list, `the head's ${name} is not a time`)
  return value
}

function counterOf(list: string, head: Members, name: string): number {
  const value = head[name]
  if (!isCounter(value)) throw damagedList(list, `the head's ${name} is not a positive integer`)
  return value
}

function bytesOf(list: string, value: unknown): number | null {
  if (value === undefined) return null
  if (value !== 0 && !isCounter(value)) throw damagedList(list, "the head's bytes is not an integer of at least 0")
  return value
}

function rootOf(list: string, value: unknown): readonly Branch[] {
  const root = readBranches(value)
  if (root === null) throw damagedList(list, "the head's root is not an array of branches")
  return root
}

function indexesOf(list: string, value: unknown): readonly string[] {
  if (!Array.isArray(value) || !value.every((field): field is string => typeof field === 'string'))
    throw damagedList(list, "the head's indexes is not an array of names")
  return value
}

function isCounter(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0
}

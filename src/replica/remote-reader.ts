/** Reads the copy of a peer's data. */
import type { FoundItems, ItemQuery, PageStart } from '../list/list.ts'
import type { JsonText } from '../json/json.ts'
import type { Store } from '../store/store.ts'
import { readRemoteRange, readRemoteValue, type RemoteRange } from './copy/remote-data.ts'
import { queryRemoteList, type RemoteListAddress } from './copy/remote-list.ts'

export class RemoteReader {
  readonly #store: Pick<Store, 'read' | 'snapshot'>

  constructor(store: Pick<Store, 'read' | 'snapshot'>) {
    this.#store = store
  }

  /** Null: the copy does not have the name. */
  value({ name, ...address }: RemoteListAddress): Promise<JsonText | 'list' | null> {
    return this.#store.read((q) => readRemoteValue(q, address, name))
  }

  /** Items of a list from a place. Null: the copy does not have the list. */
  range(list: RemoteListAddress, start: PageStart, limit: number): Promise<RemoteRange | null> {
    return this.#store.snapshot((q) => readRemoteRange(q, list, start, limit))
  }

  /** @throws ServiceError `index_required` */
  query(list: RemoteListAddress, asked: ItemQuery): Promise<FoundItems> {
    return queryRemoteList(this.#store, list, asked)
  }
}

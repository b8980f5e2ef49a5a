// Lucene as a peer: one field with frequencies and no positions, the id stored, all threads index
// and their segments are merged into one; MMapDirectory; no query cache.

import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.lucene.analysis.core.WhitespaceAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.FieldType;
import org.apache.lucene.document.StoredField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexOptions;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause.Occur;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.TopDocs;
import org.apache.lucene.search.TopScoreDocCollectorManager;
import org.apache.lucene.search.similarities.BM25Similarity;
import org.apache.lucene.store.MMapDirectory;

public class LucenePeer {
  static final int THREADS = Runtime.getRuntime().availableProcessors();
  // More than enough to hold 500 MB of text; the merge comes at the end.
  static final double BUFFER_MB = 1024;
  static final int QUEUED_LINES = 10_000;
  static final String END = "";
  // One round is not enough for the compiler to be done with the code: rounds go on for so long.
  static final long WARM_UP_NS = 5_000_000_000L;
  // Its postings, with the frequencies and the blocks' impacts.
  static final String POSTINGS_SUFFIX = ".doc";

  final IndexSearcher searcher;
  final boolean count;
  final int k;

  LucenePeer(Path index, String task) throws IOException {
    searcher = new IndexSearcher(DirectoryReader.open(new MMapDirectory(index)));
    searcher.setSimilarity(new BM25Similarity(1.2f, 0.75f));
    searcher.setQueryCache(null);
    count = task.equals("count");
    k = count ? 0 : Integer.parseInt(task.substring("top".length()));
  }

  static Query parse(String kind, String[] terms) {
    if (terms.length == 1) {
      return new TermQuery(new Term("text", terms[0]));
    }
    BooleanQuery.Builder query = new BooleanQuery.Builder();
    for (int at = 0; at < terms.length; at++) {
      boolean needed = kind.equals("and") || (kind.equals("mix") && at == 0);
      query.add(new TermQuery(new Term("text", terms[at])), needed ? Occur.MUST : Occur.SHOULD);
    }
    return query.build();
  }

  /** What is timed: the number of matching documents, or the best of them. */
  Object search(Query query) throws IOException {
    if (count) {
      return searcher.count(query);
    }
    // Counts no further than it must: by itself Lucene counts the first thousand matches.
    return searcher.search(query, new TopScoreDocCollectorManager(k, null, k));
  }

  String answer(Object found) throws IOException {
    if (count) {
      return found.toString();
    }
    StringBuilder line = new StringBuilder();
    for (ScoreDoc hit : ((TopDocs) found).scoreDocs) {
      String id = searcher.storedFields().document(hit.doc).get("id");
      line.append(line.isEmpty() ? "" : " ").append(id).append(':').append(hit.score);
    }
    return line.toString();
  }

  static void build(Path text, Path index) throws Exception {
    FieldType type = new FieldType();
    type.setIndexOptions(IndexOptions.DOCS_AND_FREQS);
    type.setTokenized(true);
    type.freeze();
    long start = System.nanoTime();
    IndexWriterConfig config = new IndexWriterConfig(new WhitespaceAnalyzer());
    config.setRAMBufferSizeMB(BUFFER_MB);
    config.setUseCompoundFile(false);
    try (IndexWriter writer = new IndexWriter(new MMapDirectory(index), config);
        BufferedReader lines = Files.newBufferedReader(text)) {
      ArrayBlockingQueue<String> queue = new ArrayBlockingQueue<>(QUEUED_LINES);
      Callable<Void> worker =
          () -> {
            for (String line = queue.take(); line != END; line = queue.take()) {
              int tab = line.indexOf('\t');
              Document document = new Document();
              document.add(new StoredField("id", line.substring(0, tab)));
              document.add(new Field("text", line.substring(tab + 1), type));
              writer.addDocument(document);
            }
            return null;
          };
      ExecutorService pool = Executors.newFixedThreadPool(THREADS);
      List<Future<Void>> workers = new ArrayList<>();
      for (int thread = 0; thread < THREADS; thread++) {
        workers.add(pool.submit(worker));
      }
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        queue.put(line);
      }
      for (int thread = 0; thread < THREADS; thread++) {
        queue.put(END);
      }
      for (Future<Void> done : workers) {
        done.get();
      }
      pool.shutdown();
      writer.forceMerge(1);
      writer.commit();
    }
    double seconds = (System.nanoTime() - start) / 1e9;
    long bytes = 0;
    long postings = 0;
    try (var files = Files.list(index)) {
      for (Path file : (Iterable<Path>) files::iterator) {
        bytes += Files.size(file);
        postings += file.toString().endsWith(POSTINGS_SUFFIX) ? Files.size(file) : 0;
      }
    }
    System.out.printf(
        "{\"seconds\": %f, \"bytes\": %d, \"postings_bytes\": %d}%n", seconds, bytes, postings);
  }

  void writeAnswers(List<String> numbers, List<Query> queries, Path path) throws IOException {
    try (PrintWriter out = new PrintWriter(Files.newBufferedWriter(path))) {
      for (int at = 0; at < queries.size(); at++) {
        out.println(numbers.get(at) + "\t" + answer(search(queries.get(at))));
      }
    }
  }

  void timeEach(List<Query> queries, long[] fastest) throws IOException {
    for (int at = 0; at < fastest.length; at++) {
      long start = System.nanoTime();
      search(queries.get(at));
      fastest[at] = Math.min(fastest[at], System.nanoTime() - start);
    }
  }

  /** Every thread takes the next query that none has taken. */
  void dealOut(List<Query> queries, ExecutorService pool, int threads) throws Exception {
    AtomicInteger next = new AtomicInteger();
    Callable<Void> worker =
        () -> {
          for (int at = next.getAndIncrement(); at < queries.size(); at = next.getAndIncrement()) {
            search(queries.get(at));
          }
          return null;
        };
    for (Future<Void> done : pool.invokeAll(Collections.nCopies(threads, worker))) {
      done.get();
    }
  }

  void time(List<Query> queries, int threads, int repeat) throws Exception {
    long[] fastest = new long[queries.size()];
    Arrays.fill(fastest, Long.MAX_VALUE);
    long fastestRound = Long.MAX_VALUE;
    ExecutorService pool = Executors.newFixedThreadPool(threads);
    long begun = System.nanoTime();
    int left = repeat;
    while (left > 0) {
      boolean warm = System.nanoTime() - begun > WARM_UP_NS;
      long start = System.nanoTime();
      if (threads > 1) {
        dealOut(queries, pool, threads);
      } else {
        timeEach(queries, warm ? fastest : fastest.clone());
      }
      if (warm) {
        fastestRound = Math.min(fastestRound, System.nanoTime() - start);
        left--;
      }
    }
    pool.shutdown();
    String each = threads > 1 ? "[]" : Arrays.toString(fastest);
    System.out.printf("{\"ns\": %s, \"wall_ns\": %d}%n", each, fastestRound);
  }

  public static void main(String[] arguments) throws Exception {
    List<String> given = Arrays.asList(arguments);
    Path first = Path.of(given.get(1));
    Path second = Path.of(given.get(2));
    if (given.get(0).equals("build")) {
      build(first, second);
      return;
    }
    LucenePeer peer = new LucenePeer(first, given.get(given.indexOf("--task") + 1));
    List<String> numbers = new ArrayList<>();
    List<Query> queries = new ArrayList<>();
    for (String line : Files.readAllLines(second)) {
      String[] columns = line.split("\t");
      numbers.add(columns[0]);
      queries.add(parse(columns[1], columns[2].split(" ")));
    }
    peer.writeAnswers(numbers, queries, Path.of(given.get(given.indexOf("--answers") + 1)));
    int threads = Integer.parseInt(given.get(given.indexOf("--threads") + 1));
    int repeat = Integer.parseInt(given.get(given.indexOf("--repeat") + 1));
    peer.time(queries, threads, repeat);
  }
}

"""Link a corpus in partitions: in processes of this machine, on Ray and on Spark."""

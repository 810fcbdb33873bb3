package fairground;

import io.netty.channel.ChannelOption;
import java.time.Duration;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.reactor.netty.NettyServerCustomizer;
import org.springframework.context.annotation.Bean;
import org.springframework.http.client.ReactorResourceFactory;
import reactor.netty.http.server.HttpServer;
import reactor.netty.resources.LoopResources;

/** Starts Spring Boot, with one group of WORKERS event loops for HTTP and the database. */
@SpringBootApplication(proxyBeanMethods = false)
public class Server {
    private static final int BACKLOG = 4096;
    private static final Duration STOP = Duration.ofSeconds(1);

    public static void main(String[] arguments) {
        if (arguments.length == 1 && arguments[0].equals("--version")) {
            System.out.println(versions());
        } else {
            SpringApplication.run(Server.class, arguments);
        }
    }

    /**
     * Without co-location: it would keep a new connection to the database on the event loop that asked for it, and so, after
     * a burst, all connections on one loop.
     */
    @Bean
    ReactorResourceFactory reactorResourceFactory(@Value("${fairground.workers}") int workers) {
        ReactorResourceFactory factory = new ReactorResourceFactory();
        factory.setUseGlobalResources(false);
        factory.setLoopResourcesSupplier(() -> LoopResources.create("worker", LoopResources.DEFAULT_IO_SELECT_COUNT, workers, true, false));
        factory.setShutdownQuietPeriod(Duration.ZERO);
        factory.setShutdownTimeout(STOP);
        return factory;
    }

    @Bean
    NettyServerCustomizer backlog() {
        return server -> server.option(ChannelOption.SO_BACKLOG, BACKLOG);
    }

    private static String versions() {
        return "java %s, spring-boot %s, reactor-netty %s, r2dbc-postgresql %s, r2dbc-pool %s".formatted(
            Runtime.version(),
            SpringApplication.class.getPackage().getImplementationVersion(),
            HttpServer.class.getPackage().getImplementationVersion(),
            io.r2dbc.postgresql.PostgresqlConnectionFactory.class.getPackage().getImplementationVersion(),
            io.r2dbc.pool.ConnectionPool.class.getPackage().getImplementationVersion());
    }
}
